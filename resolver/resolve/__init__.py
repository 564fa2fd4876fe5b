"""The solver: from a problem and a catalog of releases to a resolution or a refutation.

`solver` is the entry. It calls a fast search (`provider`), checks the result
(`independent_check`), and calls the complete engine (`complete`) if the search fails.
`builds` solves the isolated environments in which source archives are built.
docs/solving.md describes the algorithm.

A requirement of a stack, such as `torch>=2.8`, passes through these types:

- `RootRequirement` (`model/problem`): the line as `config` parsed it, with a `Requirement` and a
  `StackLine`.
- `Edge` (`universe.roots`): the package `torch` must have a candidate that `>=2.8` admits. The edge
  carries the `StackLine`, which is its `Constraint`.
- `Demand` (`candidates`): all edges on `torch` combined, with the releases that they admit as a bit
  mask.
- `Release` (`project`): one of these releases, with the file that pip would take on the target.
- `Candidate` (`candidates`): the choice of that release. Its metadata gives more edges
  (`universe.edges`).
- `Pin` (`gather`): the chosen release, with all requirements on it. All pins together are the
  `Resolution`.
- `LockedPin` (`lock/build`): the files of the pin with their hashes, and how it is installed.

The complete engine has the edges as clauses of a SAT solver. If a problem has no solution, the
engine returns a core: constraints whose clauses cannot all be true. A `Premise` is a constraint of
a core with all releases that the proof needs it for, which `check_refutation` looks up again
(`premises`). A `Reason` is a constraint of a core with the releases that matter to people
(`reasons`).
"""
