"""Write a CycloneDX 1.6 bill of materials: what is installed, what builds it, and what it runs on.

The same lock gives the same bytes: there is no timestamp, and the serial number is derived from the
lock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID, uuid5

from cyclonedx.model import (
    ExternalReference,
    ExternalReferenceType,
    HashAlgorithm,
    HashType,
    Property,
    XsUri,
)
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.contact import OrganizationalEntity
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from resolver import __version__
from resolver.ascend import names
from resolver.files import json_text
from resolver.i18n import translate
from resolver.lock import file as lock_file
from resolver.model.lock import Lock, LockedPin
from resolver.model.message import Message
from resolver.model.problem import PYPI
from resolver.report.report import treatment

# The namespace of serial numbers, which are derived from locks (UUID version 5).
_NAMESPACE = UUID("0b7c1c52-5f0e-5f0c-9a53-6a3e7a8f4b10")
# The beginning of the names of this program's properties.
_OWN = "ascend-lock:"


def sbom(lock: Lock) -> str:
    """Return the text of the bill of materials, as JSON."""
    reasons = lock.reasons()
    pins = {pin.name: _component(pin, lock, reasons.get(pin.name, ())) for pin in lock.pin}
    # Several environments may have the same tool.
    tools: dict[str, Component] = {}
    for environment in lock.build_environments():
        reasons = lock.reasons(environment)
        for pin in environment:
            component = _component(pin, lock, reasons.get(pin.name, ()), tool=True)
            tools[f"{pin.name} {pin.version}"] = component
    system = list(_system(lock))
    bom = Bom(
        serial_number=uuid5(_NAMESPACE, hashlib.sha256(lock_file.dump(lock).encode()).hexdigest()),
        components=[*pins.values(), *tools.values(), *system],
    )
    root = _root(lock)
    bom.metadata.component = root
    needed_by_others = lock.needed_by().keys() - lock.requested_projects
    top = [pins[name] for name in pins if name not in needed_by_others]
    bom.register_dependency(root, [*top, *system])
    for pin in lock.pin:
        needed = [pins[name] for name in pin.needs if name in pins]
        bom.register_dependency(pins[pin.name], needed)
    for component in (*tools.values(), *system):
        bom.register_dependency(component)
    bom.metadata.tools.components.add(
        Component(
            name="ascend-lock",
            version=__version__,
            type=ComponentType.APPLICATION,
            bom_ref="tool:ascend-lock",
        )
    )
    document = json.loads(JsonV1Dot6(bom).output_as_string())
    # The library takes the timestamp from the clock.
    del document["metadata"]["timestamp"]
    return json_text(document) + "\n"


def _root(lock: Lock) -> Component:
    """Return the component that stands for the stack, with the facts and warnings of the lock."""
    properties = [
        ("target", lock.target.name),
        ("platform", lock.target.platform),
        ("inputs", lock.inputs),
    ]
    if lock.source:
        properties.append(("instead-of", lock.source))
    properties += [("warning", translate(warning, "en")) for warning in lock.all_warnings]
    properties += [(f"absent:{row.name}", f"{row.reason} ({row.because})") for row in lock.absent]
    for fact in lock.fact:
        evidence = f"{fact.strength}; {fact.source}; checked {fact.checked}; {fact.where}"
        properties.append((f"fact:{fact.id}", f"{fact.reason} ({evidence})"))
    for row in lock.override:
        release = f"{row.package} {row.version}"
        statement = f"{row.dropped} taken out of {release} by {row.fact}"
        properties.append((f"override:{row.package}", statement))
    for export in lock.export:
        kind = "optional-environment" if export.optional else "environment"
        properties.append((f"{kind}:{export.name}", export.value))
    return Component(
        name=lock.stack,
        version=lock.inputs[:12],
        type=ComponentType.APPLICATION,
        bom_ref=f"stack:{lock.stack}",
        description=lock.summary or None,
        properties=_properties(properties),
    )


def _component(
    pin: LockedPin, lock: Lock, reasons: Sequence[Message], *, tool: bool = False
) -> Component:
    """Return the component of a pin with the reasons to install it.

    With `tool`, the pin is a build tool that is not installed.
    """
    version = f"{pin.version}+{pin.label}" if pin.label else pin.version
    purl = _purl(pin, version, lock)
    references = []
    if pin.git is not None:
        url = XsUri(pin.git.url)
        references.append(ExternalReference(type=ExternalReferenceType.VCS, url=url))
    return Component(
        name=pin.name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=f"build:{purl}" if tool else str(purl),
        purl=purl,
        scope=ComponentScope.EXCLUDED if tool else ComponentScope.REQUIRED,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=file.sha256) for file in pin.file[:1]],
        external_references=references,
        properties=_properties(_pin_properties(pin, reasons, tool=tool)),
    )


def _pin_properties(
    pin: LockedPin, reasons: Sequence[Message], *, tool: bool
) -> Iterator[tuple[str, str]]:
    """Yield the properties of a pin, as names and values."""
    if pin.index:
        yield "index", pin.index
    yield "mode", pin.mode
    if tool:
        yield "role", "builds source archives, not installed"
    yield from (("file", f"{file.name} sha256:{file.sha256}") for file in pin.file)
    yield from (("extra", extra) for extra in pin.extras)
    yield from ((f"build-environment:{key}", pin.env[key]) for key in sorted(pin.env))
    yield from (("why", translate(reason, "en")) for reason in reasons)
    facts = [reason.values["fact"] for reason in reasons if "fact" in reason.values]
    yield from (("fact", str(fact)) for fact in facts)
    if pin.yanked is not None:
        yield "yanked", pin.yanked or "no reason given"
    if pin.git is not None:
        yield "git-commit", pin.git.commit
        for phrase in treatment(pin.git):
            yield "git-treatment", translate(phrase, "en")


def _purl(pin: LockedPin, version: str, lock: Lock) -> PackageURL:
    """Return the package URL of a pin.

    It has the type `generic` if the pin is from git, because an index may have another project with
    the same name.
    """
    git = pin.git
    if git is not None:
        source = {"vcs_url": f"git+{git.url}@{git.commit}"}
        path = git.subdirectory or None
        return PackageURL("generic", None, pin.name, version, qualifiers=source, subpath=path)
    qualifiers = {}
    if pin.index != PYPI:
        urls = {index.name: index.url for index in lock.index}
        qualifiers["repository_url"] = urls.get(pin.index) or pin.index
    return PackageURL("pypi", None, pin.name, version, qualifiers=qualifiers)


def _system(lock: Lock) -> Iterator[Component]:
    """Yield the components of the machine, which no index serves."""
    for component in lock.target.components:
        value = lock.target.system[component.name]
        is_ascend = component.name in names.COMPONENTS
        yield Component(
            name=names.FULL_TITLES.get(component.name, component.title),
            version=f"{value} or newer" if component.minimum else value,
            type=ComponentType.DEVICE if component.name == names.CHIP else ComponentType.PLATFORM,
            bom_ref=f"system:{component.name}",
            supplier=OrganizationalEntity(name=names.SUPPLIER) if is_ascend else None,
        )
    yield Component(
        name="CPython",
        version=lock.target.python,
        type=ComponentType.PLATFORM,
        bom_ref="system:python",
    )
    text = f"{lock.target.glibc} or newer"
    yield Component(name="glibc", version=text, type=ComponentType.PLATFORM, bom_ref="system:glibc")


def _properties(values: Iterable[tuple[str, str]]) -> list[Property]:
    """Return properties whose names begin with the name of this program."""
    return [Property(name=_OWN + name, value=value) for name, value in values]
