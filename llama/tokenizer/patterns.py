"""The regular expressions by which byte-pair vocabularies cut text into words, as llama.cpp has them.

A pattern is written over shadows (see `characters`) when its original names Unicode categories, over the text
otherwise. Categories finer than one letter, such as Lu, count as the whole letter category: llama.cpp makes no
difference either.
"""

L = r"A-Za-z\xd2"
N = r"0-9\xd1"
P = r"!-#%-*,-/:;?@\[-\]_{}\xd3"
M = r"\xd4"
S = r"$+<->\^`|~\xd5"

CONTRACTION = r"'s|'t|'re|'ve|'m|'ll|'d"
ANY_CASE = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
BLANKS = r"\s+(?!\S)|\s+"
LINES = r"\s*[\r\n]+|" + BLANKS
SIGNS = rf" ?[^\s{L}{N}]+[\r\n]*"
WORD = rf"[^\r\n{L}{N}]?[{L}]+"

GPT2 = rf"{CONTRACTION}| ?[{L}]+| ?[{N}]+| ?[^\s{L}{N}]+|{BLANKS}"
LLAMA3 = rf"{ANY_CASE}|{WORD}|[{N}]{{1,3}}|{SIGNS}|{LINES}"
QWEN2 = rf"{ANY_CASE}|{WORD}|[{N}]|{SIGNS}|{LINES}"
QWEN35 = rf"{ANY_CASE}|[^\r\n{L}{N}]?[{L}{M}]+|[{N}]| ?[^\s{L}{M}{N}]+[\r\n]*|{LINES}"
MINICPM5 = rf"{ANY_CASE}|{WORD}|[{N}]+|{SIGNS}|{LINES}"
UFAKZEKA = rf"{WORD}|[{N}]|{SIGNS}|{LINES}"
SEED_CODER = rf"{ANY_CASE}|{WORD}|[{N}]| ?[^\s{L}{N}\r\n]+|{LINES}"
BAILINGMOE = rf"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|{WORD}|[{N}]|{SIGNS}|\s*[\r\n]|{BLANKS}"
# A letter, its marks, and further letters that a single blank may part.
EXAONE_MOE = rf"{ANY_CASE}|[^\r\n{L}{N}]?[{L}](?:[{L}{M}]+| [{L}])*|[{N}]| ?[^\s{L}{N}]+[\r\n/]?|\s*[\r\n]|{BLANKS}"
# Lines are looked for only where a run of blanks begins: elsewhere the run is known to hold none, and looking again at
# each step would take time that grows with the square of the run.
JAIS2 = (
    rf"{ANY_CASE}|{WORD}|[{N}]{{1,3}}|{SIGNS}|(?<![^\S\r\n])\s*[\r\n]+|"
    + "|".join(rf"\s{{{n}}}(?!\S)" for n in (512, 256, 128, 64, 32, 16, 8, 4))
    + r"|\s{1,2}(?!\S)|\s"
)

UPPER = rf"A-Z{L[6:]}"  # what llama.cpp takes for capitals: every letter but a-z
LOWER = rf"a-z{L[6:]}"
TAIL = rf"[^\s{L}{N}]+[\r\n/]*|{LINES}"
TEKKEN = rf"[^\r\n{L}{N}]?[{UPPER}]*[{LOWER}]+|[^\r\n{L}{N}]?[{UPPER}]+[{LOWER}]*|[{N}]| ?{TAIL}"
GPT4O = (
    rf"[^\r\n{L}{N}]?[{UPPER}]*[{LOWER}]+{ANY_CASE}?|[^\r\n{L}{N}]?[{UPPER}]+[{LOWER}]*{ANY_CASE}?"
    rf"|[{N}]{{1,3}}| ?{TAIL}"
)
GRANITE_EMBED = (
    rf"[^\r\n{L}{N}]?[{UPPER}{M}]*[{LOWER}{M}]+{ANY_CASE}?|[^\r\n{L}{N}]?[{UPPER}{M}]+[{LOWER}{M}]*{ANY_CASE}?"
    rf"|[{N}]{{1,3}}| ?{TAIL}"
)
TINY_AYA = rf"[^\r\n{L}{N}]?[{L}{M}]+{ANY_CASE}?|[{N}]{{1,3}}| ?{TAIL}"
YOUTU = rf"[^\r\n{L}{N}]?[{L}{M}]+{ANY_CASE}?|[{N}]| ?{TAIL}"

ASCII_SIGN = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"
# Chinese letters have a shadow of their own here; the code points between them that have no category have another.
HAN_LETTER, HAN_OTHER = "\xd6\xd7"
KIMI = (
    rf"[{HAN_LETTER}{HAN_OTHER}]+|[^\r\n{L}{N}]?[{L}]+{ANY_CASE}?"
    rf"|[{N}]{{1,3}}| ?[^\s{L}{N}{HAN_LETTER}]+[\r\n]*|{LINES}"
)

MARKED_WORD = rf"{ASCII_SIGN}[A-Za-z]+|[^\r\n{L}{P}{S}]?[{L}{M}]+"
DEEPSEEK3 = rf"{MARKED_WORD}| ?[{P}{S}]+[\r\n]*|{LINES}"
SPARK = rf"{MARKED_WORD}| ?[{P}{S}]+|[\r\n]|{BLANKS}"

FALCON_SIGNS = rf"[{P}$+<=>\^~|`]+"
DEFAULT_SIGNS = rf"[{P}$+<=>\^~|]+"
CHAMELEON_SIGN = rf"[{P}!-/:-@\[-`{{-~]"

# Over plain text.
BLOOM = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
EAST_ASIAN = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
HAN_KANA = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
YOUTU_SCRIPTS = (
    "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+"
    "|[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
)
AFMOE_SCRIPTS = (
    "[\u4e00-\u9fff\u3400-\u4dbf\u8c48-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf\u0e40-\u0e7f"
    "\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+"
)
DEEPSEEK_SIGNS = "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"
HAN = "\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002ebef\uf900-\ufaff\U0002f800-\U0002fa1f"
DEEPSEEK_LETTERS = (
    r"\s?["
    r"A-Za-z\xb5\xc0-\xd6\xd8-\xf6\xf8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376\u0377"
    r"\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f"
    r"\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
    r"\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d"
    r"\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb"
    r"\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128"
    r"\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4"
    r"\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf"
    r"\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3"
    r"\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943"
    r"]+"
)
