"""What kind of turn it is, and whom a question is about."""

import pytest

from dragoman.text.form import act_and_core, form, owned_thing, unwrapped

SOCIAL = [
    ("Hello!", "greeting"),
    ("hi there", "greeting"),
    ("Good morning", "greeting"),
    ("你好", "greeting"),
    ("thanks a lot", "thanks"),
    ("Great, thank you so much for your help!", "thanks"),
    ("谢谢！", "thanks"),
    ("Good night", "farewell"),
    ("ok, bye bye", "farewell"),
    ("再见", "farewell"),
    ("how are you today?", "wellbeing"),
    ("Hi, how are you?", "wellbeing"),
    ("你今天好吗", "wellbeing"),
    ("ok cool", "acknowledgement"),
    ("haha you are good", "acknowledgement"),
    ("thanks a lot, you're a star", "thanks"),
    ("😀", "acknowledgement"),
    ("好的", "acknowledgement"),
]
QUESTIONS = [
    ("What is my sister's name?", "user"),
    ("Where do I live?", "user"),
    ("do you remember what I'm allergic to?", "user"),
    ("What do you know about me?", "user"),
    ("Am I allergic to anything?", "user"),
    ("when's my birthday?", "user"),
    ("what food did I say I can't eat?", "user"),
    ("So what's my name then?", "user"),
    ("What do I do for a living?", "user"),
    ("我住在哪里？", "user"),
    ("我叫什么名字？", "user"),
    ("我喜欢喝什么茶？", "user"),
    ("who are you?", "bot"),
    ("What's your name?", "bot"),
    ("do you like fish?", "bot"),
    ("Tell me about yourself", "bot"),
    ("你是谁？", "bot"),
    ("Where can I buy a ticket?", "world"),
    ("How do I get to the lighthouse?", "world"),
    ("Can I bring my dog on the ferry?", "world"),
    ("Do I need a reservation?", "world"),
    ("Can you tell me when the ferry leaves?", "world"),
    ("Do you know how much a ticket costs?", "world"),
    ("and what do they cost?", "world"),
    ("I'd like to know the opening hours.", "world"),
    ("We're coming with a dog, is that ok on the boat?", "world"),
    ("I love jazz. What's on this weekend?", "world"),
    ("龙井多少钱一壶？", "world"),
    ("我可以带狗吗？", "world"),
]


def test_small_talk_is_known():
    assert [(text, form(text).act) for text, _ in SOCIAL] == SOCIAL


def test_a_question_is_about_the_user_the_bot_or_the_world():
    assert {form(text).act for text, _ in QUESTIONS} == {"question"}
    assert [(text, form(text).about) for text, _ in QUESTIONS] == QUESTIONS


@pytest.mark.parametrize(
    "text", ["I'm vegetarian.", "My name is Ana and I live in Basel.", "我叫小林。", "I don't eat meat anymore"]
)
def test_telling_of_oneself_is_a_personal_statement(text):
    shape = form(text)
    assert (shape.act, shape.personal, shape.about) == ("statement", True, None)


def test_the_act_alone_is_that_of_the_form():
    texts = [*(text for text, _ in [*SOCIAL, *QUESTIONS]), "I'm vegetarian.", "Forget my name."]
    assert [text for text in texts if act_and_core(text) != (form(text).act, form(text).core)] == []


@pytest.mark.parametrize(
    "text", ["So I can bring my snare.", "must she pay", "need I book", "so we'll eat our pizza inside"]
)
def test_a_conclusion_or_an_inversion_asks_without_a_mark(text):
    assert form(text).act == "question"


@pytest.mark.parametrize(
    "text", ["So I moved to Porto last week.", "So I am 71 now.", "I would need a wheelchair then."]
)
def test_what_is_told_after_so_or_with_need_asks_nothing(text):
    assert form(text).act == "statement"


def test_thanks_may_be_for_six_words_and_no_more():
    assert form("thanks for a b c d, e f!").act == "thanks"
    assert form("I see. Thanks for what you did. It helps").act == "thanks"
    assert form("thanks for a b c d e f g").act == "statement"
    assert form("I see. Thanks for everything. I don't need any more help right now.").act == "statement"


def test_a_greeting_before_a_question_does_not_hide_it():
    assert form("Hello! When does the ferry leave?").act == "question"
    assert form("Thanks! And when is it back?").act == "question"


@pytest.mark.parametrize(
    ("text", "act", "core"),
    [
        ("Remember that my sister's name is Ida.", "remember", "my sister's name is Ida"),
        ("Please forget where I live.", "forget", "where I live"),
        ("请记住我对花生过敏", "remember", "我对花生过敏"),
        ("忘掉我的名字", "forget", "我的名字"),
    ],
)
def test_requests_to_memory_carry_their_matter(text, act, core):
    shape = form(text)
    assert (shape.act, shape.core) == (act, core)


def test_asking_whether_it_remembers_is_a_question():
    assert form("Do you remember my name?").act == "question"


@pytest.mark.parametrize(
    ("text", "core"),
    [
        ("Hi, could you tell me when it opens?", "when it opens?"),
        ("I was wondering how far it is", "how far it is"),
        ("What time is it?", "What time is it?"),
        ("请问几点开门？", "几点开门？"),
    ],
)
def test_politeness_is_taken_off(text, core):
    assert unwrapped(text) == core


@pytest.mark.parametrize(
    ("question", "thing"),
    [
        ("What is my job now?", ""),
        ("What's my address?", ""),
        ("How old are my cats now?", "cat"),
        ("whats my dogs name", "dog"),
        ("What is my boss called?", "boss"),
    ],
)
def test_the_thing_of_the_users_that_a_question_asks_about(question, thing):
    assert owned_thing(question) == thing


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("When does the ferry leave, thanks", "question"),
        ("tell me the price, thanks", "question"),
        ("票多少钱，谢谢", "question"),
        ("Remove my phone number from your memory, thanks.", "forget"),
        ("Remember my locker is number 12, thanks.", "remember"),
        ("记住我吃素，谢谢", "remember"),
        ("What a great tip, thanks", "thanks"),
        ("how kind of you to help, thanks", "thanks"),
        ("what I needed, thanks", "thanks"),
        ("明白了，谢谢", "thanks"),
    ],
)
def test_what_stands_before_thanks_may_want_something(text, act):
    assert form(text).act == act
    assert "hanks" not in form(text).core or act != "remember"


@pytest.mark.parametrize("text", ["remember my name", "Remember everything and forget nothing.", "记住我的生日"])
def test_what_is_only_named_is_nothing_to_remember(text):
    assert form(text).act != "remember"


def test_what_is_said_of_it_is():
    assert form("Remember my birthday is in May").core == "my birthday is in May"
