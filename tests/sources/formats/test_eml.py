from contextlib import suppress
from email.message import EmailMessage

import pytest
from tests.effort import assert_linear

from dragoman.core.errors import InputError
from dragoman.sources.files import parse
from dragoman.sources.formats import eml
from dragoman.sources.formats.eml import DEEPEST, read


def mail(text="The ferry leaves at nine.", subject="Times"):
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Ada <ada@example.org>", "me@example.org", subject
    message.set_content(text)
    return message


def texts(document):
    return [(section.headings, block.text) for section in document.sections for block in section.blocks]


def test_sender_and_text_are_read_and_the_subject_is_the_title():
    document = read(mail().as_bytes(), "a.eml")
    assert document.title == "Times"
    assert texts(document) == [
        ((), "From: Ada <ada@example.org>"),
        ((), "To: me@example.org"),
        ((), "The ferry leaves at nine."),
    ]


def test_html_is_read_where_there_is_no_plain_text():
    message = EmailMessage()
    message["Subject"] = "Times"
    message.set_content("<h1>Ferry</h1><p>It leaves.</p>", subtype="html")
    assert texts(read(message.as_bytes(), "a.eml")) == [(("Ferry",), "It leaves.")]


def test_attachments_are_read_or_reported():
    message = mail()
    message.add_attachment("name,price\nAda,5\n", subtype="csv", filename="../fares.csv")
    message.add_attachment(b"MZ", maintype="application", subtype="octet-stream", filename="virus.exe")
    document = read(message.as_bytes(), "a.eml")
    assert texts(document)[-1] == (("attachment 1: Fares",), "name: Ada; price: 5")
    assert [(place, reason.split(".")[0]) for place, reason in document.failed] == [
        ("attachment 2 (virus.exe)", "Files of the kind '")
    ]


def test_mails_inside_of_mails_are_read_to_a_limit():
    message = mail("innermost", "innermost")
    for level in range(DEEPEST):
        outer = mail(f"level {level}", f"level {level}")
        outer.add_attachment(message)
        message = outer
    document = read(message.as_bytes(), "a.eml")
    found = [text for _, text in texts(document)]
    assert "level 0" in found and "innermost" not in found


def test_an_unknown_charset_does_no_harm():
    content = b"Subject: x\nContent-Type: text/plain; charset=martian\n\nhello there"
    assert texts(read(content, "a.eml")) == [((), "hello there")]


def test_encrypted_mails_and_other_files_are_refused():
    with pytest.raises(InputError, match="encrypted"):
        read(b"Subject: x\nContent-Type: application/pkcs7-mime\n\nabc", "a.eml")
    with pytest.raises(InputError, match="not an e-mail"):
        read(b"just text", "a.eml")


@pytest.mark.trust
@pytest.mark.parametrize(
    ("headers", "size"),
    [
        (lambda size: "To: " + "a," * size, 50_000),
        (lambda size: "To: " + "(" * size, 100_000),
        (lambda size: "To: " + '"' * (size + 1), 50_000),
        (lambda size: "Cc: " + "a:" * size, 50_000),
        (lambda size: "Date: " + "(" * size, 100_000),
        (lambda size: "Content-Type: text/plain; " + "a*0*=x; " * size, 15_000),
        (
            lambda size: (
                "Content-Type: multipart/mixed; boundary=B\n\n--B\nContent-Disposition: attachment; filename="
                + '"'
                + "=?utf-8?q?a?= " * size
                + '.txt"'
            ),
            8_000,
        ),
        (
            lambda size: "".join(
                f"Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n" for number in range(size)
            ),
            1_500,
        ),
    ],
    ids=["commas", "comments", "quotes", "groups", "date", "parameters", "words", "nested"],
)
def test_headers_without_end_are_read_or_refused_in_linear_time(headers, size):
    """The library's parser takes time with the square of a header's length, and recurses: 32 kB took it 14 s."""

    def read_mail(size):
        with suppress(InputError):
            parse(f"From: a@example.org\nSubject: x\n{headers(size)}\n\nhello\n".encode(), "a.eml")

    assert_linear(read_mail, size)


@pytest.mark.trust
def test_attachments_share_the_time_of_their_mail(monkeypatch):
    monkeypatch.setattr(eml, "SECONDS", -1.0)
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "a@example.org", "Files"
    mail.set_content("hello")
    mail.add_attachment("later", filename="a.txt")
    document = parse(mail.as_bytes(), "a.eml")
    assert "takes more than" in document.failed[0][1]
