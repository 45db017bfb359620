"""The conversation-aware query: what a turn carries, and what it must not carry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.values import Context, Turn
from dragoman.text.query import standalone

FERRY = "When does the ferry to Gull Holm leave?"
FERRY_REPLY = "The first boat leaves at 07:40 from berth 3."
DU = "去鸥岛的渡轮几点出发？"
DU_REPLY = "第一班七点四十出发。"

FOLLOW_UPS = [
    # a word points back
    ("And what do they cost?", ["ferry", "Gull", "Holm"]),
    ("how long does it take?", ["ferry", "Gull"]),
    ("What does it cost?", ["ferry"]),
    ("what's its name?", ["ferry"]),
    ("Is that expensive?", ["ferry"]),
    ("how much is that?", ["ferry"]),
    ("Can I eat there?", ["Gull", "Holm"]),
    ("How do I get there?", ["Gull", "Holm"]),
    ("Do they take cards?", ["ferry"]),
    ("Can my dog come on it?", ["ferry"]),
    ("What time does the last one go?", ["ferry"]),
    ("Is there another one?", ["ferry"]),
    ("Are those the winter times?", ["ferry"]),
    ("Who is her captain?", ["ferry"]),
    ("I have a dog. Do they allow it?", ["ferry"]),
    ("Is this boat heated?", ["ferry", "Gull"]),
    # a piece of the question before
    ("what about Sundays?", ["ferry", "Gull", "leave"]),
    ("And on Sundays?", ["ferry", "leave"]),
    ("how about in winter?", ["ferry", "leave"]),
    ("for children?", ["ferry"]),
    ("Sundays?", ["ferry", "leave"]),
    ("why?", ["ferry", "leave"]),
    ("Which one?", ["ferry"]),
    ("how much?", ["ferry"]),
    ("And when?", ["ferry"]),
    ("What else?", ["ferry"]),
    # an attribute without its subject
    ("the price?", ["ferry", "Gull"]),
    ("What about the price?", ["ferry", "Gull"]),
    ("How much is a ticket?", ["ferry", "Gull"]),
    ("What are the opening hours?", ["ferry"]),
    ("And is breakfast included?", ["ferry"]),
]

ALONE = [
    "What is the capital of France?",
    "Is there a museum in town?",
    "Who are you?",
    "What is your name?",
    "What do you like to eat?",
    "Do you know where I live?",
    "What's my name?",
    "Thanks!",
    "Hello there",
    "Is it possible to bring a dog on the Bertha?",
    "How long does it take to walk to the lighthouse?",
    "What time is it?",
    "Is it raining?",
    "Does the lighthouse open on Mondays and what does it cost?",
    "Where is the Harbour Museum and how do I get there?",
    "Which hotel that faces the sea is the best?",
    "Are there any restaurants near the fish market?",
    "What happens in Ellisund this weekend?",
    "Tell me about the great storm of 1871.",
    "I live in Bern.",
    "My sister Anna is a teacher.",
    "How many steps does the lighthouse have?",
]


@pytest.mark.parametrize(("turn", "wanted"), FOLLOW_UPS)
def test_a_follow_up_carries_the_topic(turn, wanted):
    query = standalone(Context.of(FERRY, FERRY_REPLY, turn))
    assert query.is_follow_up
    assert set(wanted) <= set(query.carried.split())
    assert query.text.endswith(query.turn)


@pytest.mark.parametrize("turn", ALONE)
def test_a_turn_that_stands_alone_carries_nothing(turn):
    query = standalone(Context.of(FERRY, FERRY_REPLY, turn))
    assert (query.text, query.carried, query.is_follow_up) == (query.turn, "", False)


@pytest.mark.parametrize(
    ("turn", "wanted"),
    [
        ("那价格呢？", ["鸥岛", "渡轮"]),
        ("多少钱？", ["鸥岛", "渡轮"]),
        ("门票多少钱？", ["鸥岛", "渡轮"]),
        ("周日呢？", ["渡轮", "出发"]),
        ("那冬天呢", ["渡轮", "出发"]),
        ("儿童呢？", ["渡轮"]),
        ("它多久一班？", ["鸥岛", "渡轮"]),
        ("那里有餐厅吗？", ["鸥岛"]),
        ("他们收信用卡吗？", ["渡轮"]),
        ("为什么？", ["渡轮"]),
        ("怎么去？", ["鸥岛"]),
        ("这个要预约吗？", ["渡轮"]),
        ("还有优惠吗？", ["渡轮"]),
        ("我有一只狗，它们可以带狗吗？", ["渡轮"]),
        ("几点？", ["鸥岛"]),
    ],
)
def test_a_chinese_follow_up_carries_the_topic(turn, wanted):
    query = standalone(Context.of(DU, DU_REPLY, turn))
    assert query.is_follow_up
    for word in wanted:
        assert word in query.carried


@pytest.mark.parametrize(
    "turn",
    [
        "北京的首都博物馆在哪里？",
        "你叫什么名字？",
        "你喜欢喝什么茶？",
        "谢谢！",
        "灯塔有多少级台阶？",
        "我住在上海。",
        "这个周末有什么活动？",
        "龙井茶一壶多少钱？",
        "我叫什么名字？",
        "灯塔几点开门，它的门票贵吗？",
        "其他的茶馆在哪里？",
    ],
)
def test_a_chinese_turn_that_stands_alone_carries_nothing(turn):
    query = standalone(Context.of(DU, DU_REPLY, turn))
    assert (query.text, query.carried, query.is_follow_up) == (query.turn, "", False)


def test_the_first_turn_carries_nothing():
    assert not standalone(Context.of("And what do they cost?")).is_follow_up


def test_a_chain_of_follow_ups_keeps_its_first_topic():
    query = standalone(
        Context.of(
            "Tell me about the ferry to Far Sker.",
            "It is small.",
            "When does it leave?",
            "At 9.",
            "and what does it cost?",
        )
    )
    assert {"ferry", "Far", "Sker"} <= set(query.carried.split())


def test_the_newest_topic_replaces_the_older_one():
    query = standalone(Context.of(FERRY, FERRY_REPLY, "Where is the museum?", "On the square.", "When does it open?"))
    assert "museum" in query.carried
    assert "ferry" not in query.carried


def test_what_was_asked_before_is_not_asked_again():
    """The predicate of the question before would bring its answer a second time."""
    query = standalone(Context.of("What does the ferry to Gull Holm cost?", "34 francs.", "How long does it take?"))
    assert "cost" not in query.carried.split()


def test_small_talk_between_is_skipped():
    query = standalone(Context.of(FERRY, FERRY_REPLY, "Thanks!", "You are welcome.", "And what does it cost?"))
    assert "ferry" in query.carried


def test_a_name_that_the_reply_brought_up_is_carried():
    query = standalone(
        Context.of("I want a quiet hotel.", "Try the Allenbell Inn near the park.", "Are their rooms clean?")
    )
    assert {"Allenbell", "Inn"} <= set(query.carried.split())


def test_an_agent_that_opens_the_dialogue_gives_a_topic():
    query = standalone(Context((Turn("agent", "Welcome to the Harbour Museum."), Turn("user", "When does it open?"))))
    assert "Museum" in query.carried


@given(st.lists(st.text(max_size=60), min_size=1, max_size=6))
def test_any_dialogue_has_a_query_that_ends_with_its_turn(texts):
    query = standalone(Context.of(*texts))
    assert query.text.endswith(query.turn)
    assert query.is_follow_up == bool(query.carried)


@pytest.mark.parametrize(
    ("turn", "asked"),
    [
        ("Hi, could you tell me when the ferry leaves?", "when the ferry leaves?"),
        ("My knees are bad. How many stairs are there up the tower?", "How many stairs are there up the tower?"),
        ("I have a dog. Can it come on the ferry?", "I have a dog. Can it come on the ferry?"),
        ("What do you like to eat?", "What do I like to eat?"),
        ("Who are you?", "My name is, who I am"),
        ("你喜欢喝什么茶？", "我喜欢喝什么茶？"),
    ],
)
def test_the_query_is_the_question_itself_in_the_words_of_whom_it_is_about(turn, asked):
    assert standalone(Context.of(turn)).text == asked


def test_the_columns_of_a_row_that_was_said_are_no_topic():
    said = "Eagles: 15 to 28 July, Ages 13 to 15, Price 610. You told me that your son Ole is 14. (Sessions)"
    carried = standalone(Context.of("Which session fits him?", said, "What does it cost?")).carried
    assert "Eagles" in carried and not {"Ages", "Price", "July", "Ole"} & set(carried.split())


def test_what_somebody_tells_about_themselves_carries_no_topic():
    told = "I'm bringing my surfboard, its 2.20 m"
    assert standalone(Context.of("What discount do I get?", "Discounts cannot be combined.", told)).carried == ""
