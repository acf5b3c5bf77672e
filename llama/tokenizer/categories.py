"""The general category of every code point, as of Unicode 15.1, whatever Python this runs on.

llama.cpp's tables are of that version. Python's own differ from release to release, and so would the ids.
"""

import numpy as np
from numpy.typing import NDArray

UNASSIGNED, LETTER, MARK, NUMBER, PUNCTUATION, SYMBOL, SEPARATOR, CONTROL = "-LMNPSZC"

# Runs of code points that share a category: the distance from the run before in hexadecimal, then the category.
RUNS = (
    "0C 20Z 1P 3S 1P 6S 1P 4N aP 2S 3P 2L 1aP 3S 1P 1S 1L 1aP 1S 1P 1S 1C 21Z 1P 1S 5P 1S 2L 1P 1S 1C 1S 4N 2S 1L 1P "
    "2S 1N 1L 1P 1N 3P 1L 17S 1L 1fS 1L 1caS 4L cS eL 5S 7L 1S 1L 1S 11M 70L 5S 1L 2- 2L 4P 1L 1- 4S 2L 1P 1L 3- 1L "
    "1- 1L 14- 1L 53S 1L 8bS 1M 7L a6- 1L 26- 2L 1P 6L 29P 2- 2S 3- 1M 2dP 1M 1P 1M 2P 1M 2P 1M 1- 8L 1b- 4L 4P 2- bC "
    "6S 3P 2S 1P 2S 2M bP 1C 1P 3L 2bM 15N aP 4L 2M 1L 63P 1L 1M 7C 1S 1M 6L 2M 2S 1M 4L 2N aL 3S 2L 1P e- 1C 1L 1M "
    "1L 1eM 1b- 2L 59M bL 1- eN aL 21M 9L 2S 1P 3L 1- 2M 1S 2L 16M 4L 1M 9L 1M 3L 1M 5- 2P f- 1L 19M 3- 2P 1- 1L b- "
    "5L 18S 1L 6- 1C 2- 6M 8L 2aM 18C 1M 21L 36M 3L 1M 12L 1M 7L aM 2P 2N aP 1L 10M 3- 1L 8- 2L 2- 2L 16- 1L 7- 1L 1- "
    "3L 4- 2M 1L 1M 7- 2M 2- 2M 3L 1- 8M 1- 4L 2- 1L 3M 2- 2N aL 2S 2N 6S 2L 1P 1M 1- 2M 3- 1L 6- 4L 2- 2L 16- 1L 7- "
    "1L 2- 1L 2- 1L 2- 2M 1- 1M 5- 4M 2- 2M 3- 3M 1- 7L 4- 1L 1- 7N aM 2L 3M 1P 1- aM 3- 1L 9- 1L 3- 1L 16- 1L 7- 1L "
    "2- 1L 5- 2M 1L 1M 8- 1M 3- 1M 3- 2L 1- fL 2M 2- 2N aP 1S 1- 7L 1M 6- 1M 3- 1L 8- 2L 2- 2L 16- 1L 7- 1L 2- 1L 5- "
    "2M 1L 1M 7- 2M 2- 2M 3- 7M 3- 4L 2- 1L 3M 2- 2N aS 1L 1N 6- aM 1L 1- 1L 6- 3L 3- 1L 4- 3L 2- 1L 1- 1L 2- 3L 2- "
    "3L 3- 3L c- 4M 5- 3M 3- 1M 4- 2L 1- 6M 1- eN dS 8- 5M 5L 8- 1L 3- 1L 17- 1L 10- 2M 1L 1M 7- 1M 3- 1M 4- 7M 2- 1L "
    "3- 2L 1- 2L 2M 2- 2N a- 7P 1N 7S 1L 1M 3P 1L 8- 1L 3- 1L 17- 1L a- 1L 5- 2M 1L 1M 7- 1M 3- 1M 4- 7M 2- 6L 2- 1L "
    "2M 2- 2N a- 1L 2M 1- cM 4L 9- 1L 3- 1L 29M 2L 1M 7- 1M 3- 1M 4L 1S 1- 4L 3M 1N 7L 3M 2- 2N 13S 1L 6- 1M 3- 1L "
    "12- 3L 18- 1L 9- 1L 1- 2L 7- 3M 1- 4M 6- 1M 1- 1M 8- 6N a- 2M 2P 1- cL 30M 1L 2M 7- 4S 1L 7M 8P 1N aP 2- 25L 2- "
    "1L 1- 1L 5- 1L 18- 1L 1- 1L aM 1L 2M 9L 1- 2L 5- 1L 1- 1M 7- 1N a- 2L 4- 20L 1S 3P fS 1P 1S 3M 2S 6N 14S 1M 1S "
    "1M 1S 1M 1P 4M 2L 8- 1L 24- 4M 14P 1M 2L 5M b- 1M 24- 1S 8M 1S 6- 1S 2P 5S 4P 2- 25L 2bM 14L 1N aP 6L 6M 4L 4M "
    "3L 1M 3L 2M 7L 3M 4L dM cL 1M 1N aM 4S 2L 26- 1L 1- 5L 1- 2L 2bP 1L 14d- 1L 4- 2L 7- 1L 1- 1L 4- 2L 29- 1L 4- 2L "
    "21- 1L 4- 2L 7- 1L 1- 1L 4- 2L f- 1L 39- 1L 4- 2L 43- 2M 3P 9N 14- 3L 10S a- 6L 56- 2L 6- 2P 1L 26cS 1P 1L 11Z "
    "1L 1aP 2- 3L 4bP 3N 3L 8- 7L 12M 4- 9L 13M 3P 2- 9L 12M 2- cL d- 1L 3- 1M 2- cL 34M 20P 3L 1P 3S 1L 1M 1- 2N a- "
    "6N a- 6P bM 3C 1M 1N a- 6L 59- 7L 5M 2L 22M 1L 1- 5L 46- aL 1f- 1M c- 4M c- 4S 1- 3P 2N aL 1e- 2L 5- bL 2c- 4L "
    "1a- 6N b- 3S 22L 17M 5- 2P 2L 35M a- 1M 1d- 2M 1N a- 6N a- 6P 7L 1P 6- 2M 1f- 31M 5L 2fM 11L 8- 3N aP 7S aM 9S "
    "9P 2- 1M 3L 1eM dL 2N aL 2cM e- 8P 4L 24M 14- 3P 5N a- 3L 3N aL 24P 2L 9- 7L 2b- 2L 3P 8- 8M 3P 1M 15L 4M 1L 6M "
    "1L 2M 3L 1- 5L c0M 40L 116- 2L 6- 2L 26- 2L 6- 2L 8- 1L 1- 1L 1- 1L 1- 1L 1f- 2L 35- 1L 7S 1L 1S 3L 3- 1L 7S 3L "
    "4- 2L 6- 1S 3L dS 3- 2L 3- 1L 7S 2- 1Z bC 5P 18Z 2C 5Z 1P 14S 1P dS 1P cZ 1C 5- 1C aN 1L 1- 2N 6S 3P 2L 1N aS 3P "
    "2- 1L d- 3S 21- fM 21- fS 2L 1S 4L 1S 2L aS 1L 1S 3L 5S 6L 1S 1L 1S 1L 1S 1L 4S 1L bS 2L 4S 5L 5S 4L 1S 1N 33L "
    "2N 5S 2- 4S 178P 4S 1dP 2S fc- 19S b- 15N 3cS 4eN 16S 268P eN 1eS 31P 2S 1fP aS 193P 16S 3fP 4S 20P 2S 176- 2S "
    "20- 1S 69L e5S 6L 4M 3L 2- 5P 4N 1P 2L 26- 1L 1- 5L 1- 2L 38- 7L 1P 1- eM 1L 17- 9L 7- 1L 7- 1L 7- 1L 7- 1L 7- "
    "1L 7- 1L 7- 1L 7- 1M 20P 2fL 1P 20S 2P c- 22S 1a- 1S 59- cS d6- 1aS 10Z 1P 3S 1L 2N 1P aS 2P cS 1N 9M 6P 1L 5S "
    "2N 3L 2P 1S 2- 1L 56- 2M 2S 2L 3P 1L 5aP 1L 4- 5L 2b- 1L 5e- 1S 2N 4S aL 20S 24- bS 1L 10S 1f- 1N aS 1eN 8S 1N "
    "fS 20N aS 27N fS 140L 19c0S 40L 568d- 3S 37- 9L 2eP 2L 10dP 3L 10N aL 2- 14L 2fM 4P 1M aP 1L 1fM 2L 46N aM 2P 6- "
    "8S 17L 9S 2L 67S 2L 40- 5L 2- 1L 1- 1L 5- 18L 10M 1L 3M 1L 4M 1L 17M 5S 4M 1- 3N 6S 4- 6L 34P 4- 8M 2L 32M 12- "
    "8P 2N a- 6M 12L 6P 3L 1P 1L 2M 1N aL 1cM 8P 2L 17M d- bP 1L 1d- 3M 4L 2fM eP d- 1L 1N a- 4P 2L 5M 1L aN aL 5- 1L "
    "29M e- 9L 3M 1L 8M 2- 2N a- 2P 4L 17S 3L 1M 3L 32M 1L 1M 3L 2M 2L 5M 2L 1M 1L 1- 18L 3P 2L bM 5P 2L 3M 2- aL 6- "
    "2L 6- 2L 6- 9L 7- 1L 7- 1L 2bS 1L eS 2- 4L 73M 8P 1M 2- 2N a- 6L 2ba4- cL 17- 4L 31- 4C 2100L 16e- 2L 6a- 26L 7- "
    "cL 5- 5L 1M 1L aS 1L d- 1L 5- 1L 1- 1L 2- 1L 2- 1L 6cS 11- 10L 16bP 2S 10L 40- 2L 36- 7S 1- 20L cS 4M 10P a- 6M "
    "10P 23- 1P eS 1P 1S 3- 1P 1S 1P 2- 4L 5- 1L 87- 2C 1- 1P 3S 1P 6S 1P 4N aP 2S 3P 2L 1aP 3S 1P 1S 1L 1aP 1S 1P 1S "
    "1P 7L 59- 3L 6- 2L 6- 2L 6- 2L 3- 3S 7- 1S 7- aC 3S 2- 2L c- 1L 1a- 1L 13- 1L 2- 1L f- 2L e- 22L 7b- 5P 3- 4N "
    "2d- 3S 9N 39S 11N 2S 3- 1S d- 3S 1- 2fS 2dM 1- 82L 1d- 3L 31- fM 1N 1b- 4L 20N 4- 9L 14N 1L 8N 1- 5L 26M 5- 5L "
    "1e- 1P 1L 24- 4L 8P 1N 5- 2aL 9e- 2N a- 6L 24- 4L 24- 4L 28- 8L 34- bP 1L b- 1L f- 1L 7- 1L 2- 1L b- 1L f- 1L 7- "
    "1L 2- 43L 137- 9L 16- aL 8- 18L 6- 1L 2a- 1L 9- 45L 6- 2L 1- 1L 2c- 1L 2- 3L 1- 2L 17- 1P 1N 8L 17S 2N 7L 1f- 8N "
    "9- 30L 13- 1L 2- 5N 5L 16N 6- 3P 1L 1a- 5P 1- 40L 38- 4N 2L 2N 10- 2N 2eL 1M 3- 1M 2- 5M 4L 4- 1L 3- 1L 1d- 2M "
    "3- 4M 1N 9- 7P 9- 7L 1dN 2P 1L 1dN 3- 20L 8S 1L 1cM 2- 4N 5P 7- 9L 36- 3P 7L 16- 2N 8L 13- 5N 8L 12- 7P 4- cN 7- "
    "50L 49- 37L 33- dL 33- 7N 6L 24M 4- 8N a- 126N 1f- 1L 2a- 1M 2P 1- 2L 2- 4bM 3L 1dN aL 1- 8L 16M bN 4P 5- 16L "
    "12M 4P 4- 26L 15N 7- 14L 17- 9M 3L 35M fP 7- 4N 1eM 1L 2M 2L 1- 9M 4L 2dM bP 2C 1P 4M 1- aC 1- 2L 19- 7N a- 6M "
    "3L 24M e- 1N aP 4L 1M 2L 1- 8L 23M 1P 2L 1- 9M 3L 30M eL 4P 4M 4P 1M 2N aL 1P 1L 1P 3- 1N 14- bL 12- 1L 19M cP "
    "6M 1L 2M 1- 3eL 7- 1L 1- 1L 4- 1L f- 1L aP 1- 6L 2fM c- 5N a- 6M 4- 1L 8- 2L 2- 2L 16- 1L 7- 1L 2- 1L 5- 1M 2L "
    "1M 7- 2M 2- 2M 3- 2L 1- 6M 1- 5L 5M 2- 2M 7- 3M 5- 8bL 35M 12L 4P 5N aP 2- 1P 1M 1L 3- 1eL 30M 14L 2P 1L 1- 8N "
    "a- a6L 2fM 7- 2M 9P 17L 4M 2- 22L 30M 11P 3L 1- bN a- 6P d- 13L 2bM dL 1P 1- 6N a- 36L 1b- 2M f- 4N cP 3S 1L 7- "
    "b9L 2cM fP 1- 64L 40N 13- cL 8- 2L 1- 2L 8- 1L 2- 1L 18M 6- 1M 2- 2M 4L 1M 1L 1M 2P 3- 9N a- 46L 8- 2L 27M 7- 2M "
    "7L 1P 1L 1M 1- 1bL 1M aL 28M 7L 1M 4P 8M 1- 8L 1M bL 2eM 10P 3L 1P 5- dL 49- 7P a- f6L 9- 1L 25M 8- 1M 8L 1P 5- "
    "aN 1d- 3P 2L 1e- 2M 16- 1M e- 49L 7- 1L 2- 1L 26M 6- 3M 1- 1M 2- 1M 7L 1M 1- 8N a- 6L 6- 1L 2- 1L 20M 5- 1M 2- "
    "1M 5L 1- 7N a- 136L 13M 4P 2- 7M 2L 1M 1L d- 1L 22M 7- 3M 5P dN a- 56L 1- fN 15S 1d- dP 1L 39a- 66N 6f- 1P 5- bL "
    "c4- a4cL 61P 2- dL 430C 10M 1L 6M f- faaL 247- 21b9L 239- 7L 1f- 1N a- 4P 2L 4f- 1N a- 6L 1e- 2M 5P 1- aL 30M 7P "
    "5S 4L 4P 1S 1- aN a- 1N 7- 1L 15- 5L 13- 2b0L 40N 17P 4- 65L 4b- 4M 1L 1M 37- 7M 4L d- 40L 2P 1L 1M 1- bM 2- eL "
    "17f8- 8L 4d6- 2aL 9- 22e7L 4- 1L 7- 1L 2- 1L 123- fL 1- 1dL 3- 2L 1- eL 4- 8L 18c- 904L 6b- 5L d- 3L 9- 7L a- 2S "
    "1M 2P 1C 4- 125cM 2e- 2M 17- 9S 74- 3cS f6- aS 27- 2S 3cM 5S 3M 6C 8M 8S 2M 7S 1eM 4S 3d- 15S 42M 3S 1- 7aN 14- "
    "cN 14- cS 57- 9N 19- 87L 55- 1L 47- 1L 2- 2L 1- 2L 2- 2L 4- 1L c- 1L 1- 1L 7- 1L 41- 1L 4- 2L 8- 1L 7- 1L 1c- 1L "
    "4- 1L 5- 1L 1- 3L 7- 1L 154- 2L 19S 1L 19S 1L 1fS 1L 19S 1L 1fS 1L 19S 1L 1fS 1L 19S 1L 1fS 1L 19S 1L 8- 2N 32S "
    "200M 37S 4M 32S 8M 1S eM 1S 2P 5- fM 5- 1M f- 450L 1f- 6L 6- d5M 7- 1M 11- 2M 7- 1M 2- 1M 5- 5L 3e- 21M 1- 70L "
    "2d- 3M 7L 7- 2N a- 4L 1S 1- 140L 1eM 1- 11L 2cM 4N a- 5S 1- 1d0L 1cM 4N a- 2e6L 7- 1L 4- 1L 2- 1L f- 1L c5- 2N "
    "9M 7- 29L 44M 7L 1- 4N a- 4P 2- 311N 3bS 1N 3S 1N 4- 4cN 2dS 1N f- c2L 4- 1L 1b- 1L 2- 1L 1- 2L 1- 1L a- 1L 4- "
    "1L 1- 1L 1- 6L 1- 4L 1- 1L 1- 1L 1- 1L 3- 1L 2- 1L 1- 2L 1- 1L 1- 1L 1- 1L 1- 1L 1- 1L 2- 1L 1- 2L 4- 1L 7- 1L "
    "4- 1L 4- 1L 1- 1L a- 1L 11- 5L 3- 1L 5- 1L 11- 34S 2- 10eS 2c- 4S 64- cS f- 2S f- 1S f- 1S 25- aN dS a1- 38S 1d- "
    "dS 2c- 4S 9- 7S 2- eS 6- 9aS 3d8- 4S 11- 3S d- 3S 77- 4S 5f- 6S c- 4S 1- fS c- 4S 38- 8S a- 6S 28- 8S 1e- 2S 2- "
    "4eS 154- cS e- 2S d- 3S 9- 7S 2e- 1S 7- 8S e- 4S 9- 7S 9- 7S 93- 1S 37- 25N a- 406L a6e0- 20L 103a- 6L de- 2L "
    "1682- eL 1d31- fL 26e- 9a2L 21e- 5e2L 134b- 5L 1060- adc51C 1- 1eC 60- 80M f0- fe10C fffe- 2C fffe-"
)


def category_table() -> NDArray[np.uint8]:
    """The category letter of each code point.   -> (0x110000,), ASCII codes"""
    table = np.empty(0x110000, np.uint8)
    start = 0
    for run in RUNS.split():
        start += int(run[:-1], 16)
        table[start:] = ord(run[-1])
    return table
