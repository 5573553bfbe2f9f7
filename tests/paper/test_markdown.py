"""Tables as Markdown."""

import pandas as pd

from paper.markdown import markdown, to_markdown
from scarf_lightning.reporting.blocks import Entry, Table


def test_a_table_is_a_pipe_table_under_its_caption_and_sees_nothing_but_text() -> None:
    rows = ((Entry("a|b", "a|b"), Entry("1.0", 1.0, best=True)),)

    text = to_markdown(Table("t", "Two_words", ("name", "value"), rows, pd.DataFrame()))

    assert text == "Two\\_words\n\n| name | value |\n| --- | --: |\n| a\\|b | **1.0** |\n"
    assert markdown("a|b *c* <i> `d` e_f \\ \n g") == r"a\|b \*c\* &lt;i&gt; \`d\` e\_f \\   g"
