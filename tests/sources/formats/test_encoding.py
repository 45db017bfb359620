import pytest

from dragoman.core.errors import InputError
from dragoman.sources.formats.encoding import decode


def test_a_mark_wins_over_what_is_declared():
    assert decode("渡轮".encode("utf-16"), "a.html", encoding="gb18030") == "渡轮"


@pytest.mark.trust
@pytest.mark.parametrize("encoding", ["undefined", "base64", "no-such-charset", "punycode"])
def test_a_codec_that_fails_in_its_own_way_is_an_error_in_words(encoding):
    with pytest.raises(InputError, match=rf"'a.html' is not {encoding.upper()}.*Save it as UTF-8"):
        decode(b"a-!", "a.html", encoding=encoding)
