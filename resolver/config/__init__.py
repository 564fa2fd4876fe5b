"""Readers of the files that people write: TOML of stacks and facts, and files of other tools.

`load` reads TOML files into the types of `schema`, and `compile` makes problems of them.
`requirement_files` reads files of other tools, of which `stack_draft` makes a stack. No other
package reads these files.
"""
