"""What a recording must be: the contract's twelve cases, torch-cuda's structure, and what each vendor promises.

The files find each other by their folder and not as a package, since the baseline's generator uses some of them in a
process where FlagProf must not be loaded.
"""
