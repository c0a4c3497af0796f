"""Regular expressions of packages: the syntax of Python 3.11, found in linear time or by counted steps.

`pattern` is what others use. A pattern runs on Python's ``re`` where `linear` proves that to be linear, else on RE2
(`re2` translates), else on the machine of `backtrack`, whose steps are counted.
"""
