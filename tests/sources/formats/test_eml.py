from email.message import EmailMessage

import pytest

from dragoman.core.errors import InputError
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
