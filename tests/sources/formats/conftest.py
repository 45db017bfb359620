"""A maker of zip containers and of minimal Open XML files."""

import io
import zipfile

import pytest

_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def rels(**targets):
    rows = "".join(
        f'<Relationship Id="{key}" Type="{_REL}/{kind}" Target="{target}"/>' for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{rows}</Relationships>'


def word(body, **others):
    """A Word file with this body; `others` are the contents of further parts, such as styles."""
    return zipped(
        {
            "_rels/.rels": rels(r1=("officeDocument", "word/document.xml")),
            "word/_rels/document.xml.rels": rels(**{f"r{name}": (name, f"{name}.xml") for name in others}),
            "word/document.xml": f'<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>',
            **{f"word/{name}.xml": f'<w:{name} xmlns:w="{_W}">{part}</w:{name}>' for name, part in others.items()},
        }
    )


def excel(*sheets, strings=()):
    """A workbook of sheets, each (name, attributes, content of sheetData)."""
    listed = "".join(
        f'<sheet name="{name}" sheetId="{i}" r:id="s{i}" {attributes}/>'
        for i, (name, attributes, _) in enumerate(sheets)
    )
    shared = "".join(f"<si><t>{text}</t></si>" for text in strings)
    targets = {f"s{i}": ("worksheet", f"sheet{i}.xml") for i in range(len(sheets))}
    return zipped(
        {
            "_rels/.rels": rels(r1=("officeDocument", "xl/workbook.xml")),
            "xl/_rels/workbook.xml.rels": rels(**targets, t=("sharedStrings", "strings.xml")),
            "xl/workbook.xml": f'<workbook xmlns:r="{_REL}"><sheets>{listed}</sheets></workbook>',
            "xl/strings.xml": f"<sst>{shared}</sst>",
            **{
                f"xl/sheet{i}.xml": f"<worksheet><sheetData>{rows}</sheetData></worksheet>"
                for i, (_, _, rows) in enumerate(sheets)
            },
        }
    )


@pytest.fixture
def make_zip():
    return zipped


@pytest.fixture
def make_word():
    return word


@pytest.fixture
def make_excel():
    return excel
