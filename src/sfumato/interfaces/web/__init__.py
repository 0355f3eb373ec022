"""The workbench: an editor of the recipe in a browser on this machine, nothing more.

Every widget makes a new recipe and hands it to the project; every number comes from the verbs that
Python and the command line have. ``project`` keeps recipes and their history in a folder, ``bench``
holds the data in a process apart and answers ``tasks`` about it, ``worker`` asks it, ``workbench``
puts them together, ``guard`` and ``server`` let in nobody else. None of these imports the library
that draws
pages: only ``pages`` does, and ``server``, which starts it.
"""
