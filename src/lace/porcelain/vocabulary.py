"""The words that made-up records are made of, in several scripts.

Rules of this file:
1. Every list of words has 32 entries: five bits choose one.
2. Everything is UTF-8 NFC by characters that no later Unicode composes differently.
3. A changed word changes every generated record: the digest pinned in the tests says so.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Tongue(NamedTuple):
    """A language with its tag and its words."""

    tag: str
    words: tuple[str, ...]
    word_bytes: int
    """The mean bytes of a word and the space after it."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _tongue(tag: str, text: str) -> Tongue:
    words = _words(text)
    return Tongue(tag, words, (len(text.encode()) + 1) // len(words))


_ENGLISH = _tongue(
    "en",
    "river stone light window garden bread letter winter market bridge candle harbour engine paper orange "
    "signal copper meadow thread island morning pocket silver number forest kettle summer anchor story wheel "
    "quiet north",
)
_GERMAN = _tongue(
    "de",
    "Brücke Straße Fenster Garten Brot Brief Winter Markt Kerze Hafen Papier Kupfer Wiese Faden Insel Morgen "
    "Tasche Silber Zahl Wald Kessel Sommer Anker Mühle Rad Fluss Stein Licht Größe Süden über grün",
)
_GREEK = _tongue(
    "el",
    "ποτάμι πέτρα φως παράθυρο κήπος ψωμί γράμμα χειμώνας αγορά γέφυρα κερί λιμάνι μηχανή χαρτί σήμα "
    "χαλκός λιβάδι κλωστή νησί πρωί τσέπη ασήμι αριθμός δάσος καλοκαίρι άγκυρα ιστορία τροχός βορράς "
    "ήσυχο νερό ήλιος",
)
_RUSSIAN = _tongue(
    "ru",
    "река камень свет окно сад хлеб письмо зима рынок мост свеча гавань бумага сигнал медь луг нить остров "
    "утро карман серебро число лес чайник лето якорь рассказ колесо тихий север вода солнце",
)
_HINDI = _tongue(
    "hi",
    "नदी पत्थर रोशनी बाग रोटी पत्र सर्दी पुल दीप बंदर यंत्र संकेत मैदान धागा द्वीप सुबह जेब चांदी संख्या जंगल केतली "
    "गर्मी लंगर कथा पहिया शांत उत्तर जल सूरज घर नमक नाव",
)
_ARABIC = _tongue(
    "ar",
    "نهر حجر ضوء نافذة حديقة خبز رسالة شتاء سوق جسر شمعة ميناء محرك ورق إشارة نحاس مرج خيط جزيرة صباح "
    "جيب فضة رقم غابة إبريق صيف مرساة قصة عجلة هادئ شمال ماء",
)
_CHINESE = _tongue(
    "zh",
    "河流 石头 灯光 窗户 花园 面包 书信 冬天 市场 桥梁 蜡烛 港口 机器 纸张 信号 黄铜 草地 线索 岛屿 "
    "早晨 口袋 白银 数字 森林 水壶 夏天 船锚 故事 车轮 安静 北方 清水",
)
_SIGNS = _tongue(
    "zxx",
    "🌊 🪨 💡 🪟 🌱 🍞 ✉ ❄ 🏪 🌉 🕯 ⚓ ⚙ 📄 📶 🪙 🌾 🧵 🏝 🌅 👝 🥈 🔢 🌲 🫖 🌞 📖 🎡 🤫 🧭 💧 ☀",
)

# Sixteen places: four bits choose a tongue, English for nine of them.
TONGUES: Final = (*(_ENGLISH,) * 9, _GERMAN, _GREEK, _RUSSIAN, _HINDI, _ARABIC, _CHINESE, _SIGNS)

GROUPS: Final = _words(
    "u ops town club/go lab team/ox press trade/eu choir farm shop/42 port dev/web maps café news/uk"
)
APPS: Final = _words("ding mail wiki todo log pics chat cash feed meet plan read sync vote work zine")
SHELVES: Final = _words("links notes log img doc talks λ новое")
TAGS: Final = _words("new red hot old ok fix wip eu big raw fun ask low für день 新")
LINKS: Final = ("evidence", "evidence", "evidence", "see", "reply", "part of", "", "quote")
_GIVEN: Final = _words(
    "ada bo cleo dov eva finn gus hana ivo jo kim lars mia nils ola pia quin rosa sven tove una vera wim "
    "xan yuri zoe åsa émil søren олег ελένη 美雪"
)


def member(number: int) -> str:
    """Name the member with this number.

    >>> member(0), member(33)
    ('ada', 'bo-1')
    """
    given = _GIVEN[number % len(_GIVEN)]
    return given if number < len(_GIVEN) else f"{given}-{number // len(_GIVEN)}"


def numbered(names: tuple[str, ...], number: int) -> str:
    """Name one of any number of groups or apps.

    >>> numbered(("u", "ops"), 1), numbered(("u", "ops"), 5)
    ('ops', 'ops/2')
    """
    name = names[number % len(names)]
    return name if number < len(names) else f"{name}/{number // len(names)}"
