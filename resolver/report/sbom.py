"""A CycloneDX 1.6 bill of materials: what is installed, what builds it, what it runs on, and why.

The same lock gives the same bytes: no timestamp, and a serial number derived from the lock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from resolver.files import json_text
from resolver.i18n import translate
from resolver.lock import file as lock_file
from resolver.model.lock import Lock, LockedPin
from resolver.model.message import Message
from resolver.model.problem import PYPI
from resolver.report.report import treatment

_NAMESPACE = UUID("0b7c1c52-5f0e-5f0c-9a53-6a3e7a8f4b10")  # for serial numbers derived from locks
_OWN = "ascend-lock:"
_SYSTEM = {
    "cann": (ComponentType.PLATFORM, "CANN", "Huawei"),
    "hdk": (ComponentType.PLATFORM, "Ascend HDK", "Huawei"),
    "soc": (ComponentType.DEVICE, "Ascend SoC family", "Huawei"),
}


def sbom(lock: Lock) -> str:
    """The text of the SBOM, JSON."""
    addresses = {index.name: index.url for index in lock.index}
    reasons = lock.reasons()
    pins = {pin.name: _component(pin, addresses, reasons.get(pin.name, ())) for pin in lock.pin}
    tools = {
        f"{pin.name} {pin.version}": _component(
            pin, addresses, lock.reasons(pins).get(pin.name, ()), tool=True
        )
        for pins in lock.build_environments()
        for pin in pins
    }
    system = list(_system(lock))
    root = _root(lock)
    bom = Bom(
        serial_number=uuid5(_NAMESPACE, hashlib.sha256(lock_file.dump(lock).encode()).hexdigest()),
        components=[*pins.values(), *tools.values(), *system],
    )
    bom.metadata.component = root
    needed = lock.needed_by().keys() - lock.requested_projects
    top = [pin.name for pin in lock.pin if pin.name not in needed]
    bom.register_dependency(root, [*(pins[name] for name in top), *system])
    for pin in lock.pin:
        bom.register_dependency(pins[pin.name], [pins[name] for name in pin.needs if name in pins])
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
    del document["metadata"]["timestamp"]  # the library's clock
    return json_text(document) + "\n"


def _root(lock: Lock) -> Component:
    properties = [
        ("target", lock.target.name),
        ("platform", lock.target.platform),
        ("inputs", lock.inputs),
    ]
    properties += [("instead-of", lock.source)] if lock.source else []
    properties += [("warning", translate(warning, "en")) for warning in lock.all_warnings]
    properties += [(f"absent:{row.name}", f"{row.reason} ({row.because})") for row in lock.absent]
    properties += [
        (
            f"fact:{row.id}",
            f"{row.reason} ({row.strength}; {row.source}; checked {row.checked}; {row.where})",
        )
        for row in lock.fact
    ]
    properties += [
        (
            f"override:{row.package}",
            f"{row.dropped} taken out of {row.package} {row.version} by {row.fact}",
        )
        for row in lock.override
    ]
    properties += [
        (f"{'optional-' if row.optional else ''}environment:{row.name}", row.value)
        for row in lock.export
    ]
    return Component(
        name=lock.stack,
        version=lock.inputs[:12],
        type=ComponentType.APPLICATION,
        bom_ref=f"stack:{lock.stack}",
        description=lock.summary or None,
        properties=_properties(properties),
    )


def _component(
    pin: LockedPin, addresses: Mapping[str, str], reasons: Sequence[Message], *, tool: bool = False
) -> Component:
    version = f"{pin.version}+{pin.label}" if pin.label else pin.version
    properties = [("index", pin.index)] if pin.index else []
    properties += [("mode", pin.mode)]
    properties += [("role", "builds source archives, not installed")] if tool else []
    properties += [("file", f"{file.name} sha256:{file.sha256}") for file in pin.file]
    properties += [("extra", extra) for extra in pin.extras]
    properties += [(f"build-environment:{key}", value) for key, value in sorted(pin.env.items())]
    properties += [("why", translate(why, "en")) for why in reasons]
    properties += [("fact", str(why.values["fact"])) for why in reasons if "fact" in why.values]
    properties += [("yanked", pin.yanked or "no reason given")] if pin.yanked is not None else []
    properties += [("git-commit", pin.git.commit)] if pin.git else []
    properties += (
        [("git-treatment", translate(phrase, "en")) for phrase in treatment(pin.git)]
        if pin.git
        else []
    )
    purl = _purl(pin, version, addresses)
    return Component(
        name=pin.name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=f"build:{purl}" if tool else str(purl),
        purl=purl,
        scope=ComponentScope.EXCLUDED if tool else ComponentScope.REQUIRED,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=file.sha256) for file in pin.file[:1]],
        external_references=[
            ExternalReference(type=ExternalReferenceType.VCS, url=XsUri(pin.git.url))
        ]
        if pin.git
        else [],
        properties=_properties(properties),
    )


def _purl(pin: LockedPin, version: str, addresses: Mapping[str, str]) -> PackageURL:
    """Git sources are `generic`: an index may have a different project of that name."""
    if pin.git:
        source = {"vcs_url": f"git+{pin.git.url}@{pin.git.commit}"}
        return PackageURL(
            "generic",
            name=pin.name,
            version=version,
            qualifiers=source,
            subpath=pin.git.subdirectory or None,
        )
    qualifiers = (
        {} if pin.index == PYPI else {"repository_url": addresses.get(pin.index) or pin.index}
    )
    return PackageURL("pypi", name=pin.name, version=version, qualifiers=qualifiers)


def _system(lock: Lock) -> Iterator[Component]:
    """System components that the lock relies on and no index serves."""
    for key, value in lock.target.system.items():
        kind, name, supplier = _SYSTEM.get(key, (ComponentType.PLATFORM, key, ""))
        yield Component(
            name=name,
            version=f"{value} or newer" if key == "hdk" else value,
            type=kind,
            bom_ref=f"system:{key}",
            supplier=OrganizationalEntity(name=supplier) if supplier else None,
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
    return [Property(name=_OWN + name, value=value) for name, value in values]
