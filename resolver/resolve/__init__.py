"""From a problem and a catalog to a resolution: search, its check, and the engine for hard cases.

One requirement, `torch>=2.8` in a stack, passes through these types:

- `RootRequirement` (`model/problem`): the line as `config` parsed it, a `Requirement` and the
  `StackLine` that it is.
- `Edge` (`universe.roots`): a candidate of the package `torch` is needed that `>=2.8` admits,
  because of that `Constraint`.
- `Demand` (`candidates`): what all edges on `torch` require together, with the releases that they
  admit as a bit mask.
- `Release` (`project`): one of these releases as the file that pip would take on the target.
- `Candidate` (`candidates`): the choice of that release; its metadata gives further edges
  (`universe.edges`).
- `Pin` (`gather`): the chosen release, with everything that requires it; all pins are the
  `Resolution`.
- `LockedPin` (`lock/build`): its files with their hashes and how it is installed, as lock.toml has
  them.

Where no candidate is left, the complete engine has the edges as clauses. The `Constraint`s whose
clauses clash are a core; with the releases that they concern they are the `Reason`s of a report
(`clauses`, `reasons`).
"""
