"""Literal values in forms that can be compared."""

from __future__ import annotations

import pytest

from mixtea.text.values import MAX_NGRAM_TEXT_LENGTH, form_of

XSD = "http://www.w3.org/2001/XMLSchema#"


def whole(value, datatype=""):
    return form_of(value, datatype).whole


def shared(one, other):
    return set(form_of(one).words.split()) & set(form_of(other).words.split())


@pytest.mark.parametrize(
    "same",
    [
        ("1200", "1,200.0", "1200.00", "+1200", "1.2e3", " 1200 ", "１２００", "١٢٠٠"),
        ("-5", "-5.0", "-0.5e1"),
        ("0", "-0", "0.0", "+0.000"),
        ("1,234,567", "1234567"),
        ("1990-05-03", "3 May 1990", "03.05.1990", "3.5.1990", "May 3, 1990", "3. may 1990", "1990-05-03T10:00:00Z",
         "1990-05-03Z", "1990-05-03+02:00", "1990-05-03 10:00", "1990-05-03T10:00:00.125+0200",
         "03/05/1990", "3 MAY. 1990", "1990/05/03", "1990.5.3", "3-5-1990", "3rd May 1990", "3rd of May, 1990",
         "3 May, 1990", "May 3rd, 1990", "3-May-1990", "1990年5月3日", "1990년 5월 3일", "3 mai 1990",
         "3 de mayo de 1990", "3 maggio 1990", "3 de maio de 1990", "3 mei 1990", "3 maj 1990", "3 maja 1990",
         "3 мая 1990", "١٩٩٠-٠٥-٠٣", "३ May १९९०", "１９９０年５月３日"),
        ("1990-03-01", "1. März 1990", "1er mars 1990", "1 marzo 1990", "1º de março de 1990", "1 maart 1990"),
        ("1990-08-02", "2 août 1990", "2 aout 1990", "2. Aug. 1990", "2 agosto 1990", "2 augustus 1990"),
        ("1990-07-02", "2 juil. 1990", "2 juli 1990", "luglio 2, 1990"), ("1990-06-02", "2 juin 1990", "2 giu 1990"),
        ("12.5", "12,5", "12,50", "+12,5", "١٢٫٥"),
        ("1200.5", "1.200,5", "1 200,5", "1\u202f200,5", "1'200.5", "1,200.5"),
        ("1200", "1 200", "1\u00a0200", "1\u2009200", "1200,0"), ("0.125", "0,125", ".125"), ("-5", "−5", "-5,0"),
        ("1.5 km", "1500 m", "1,5 km", "1500m", "1 500 m", "1.5 KM"), ("2 lb", "0.90718474 kg"), ("3 t", "3000 kg"),
        ("12 %", "12%", "12"), ("20 °C", "20°C", "20,0 °C"),
        ("1990-05-13", "05/13/1990", "13/05/1990"),
        ("1990-05", "May 1990", "may 1990"),
        ("1990-09-01", "1 Sep 1990", "1 Sept 1990", "September 1, 1990"),
        ("-0044-03-15", "-0044-03-15T00:00:00"),
        ("Bondi Street", "street bondi", "BONDI_STREET", "http://dbpedia.org/resource/Bondi_Street"),
        ("Crème brûlée", "creme brulee"),
        ("Москва", "moskva"),
    ],
)  # fmt: skip
def test_the_same_is_the_same_however_it_is_written(same):
    assert len({whole(value) for value in same}) == 1 and whole(same[0])


@pytest.mark.parametrize(
    "different",
    [
        ("5", "-5", "0", "0.5"), ("1990-05-03", "1990-05-04", "1990-06-03", "1991-05-03", "1990-05"),
        ("-1200-05-03", "-1200-05-04", "-1200-06-03", "-1201-05-03", "1200-05-03"),
        ("Marathon 2012", "Marxism 2012", "Mar 2012"), ("Mayor 1990", "May 1990", "Junior 1990", "June 1990"),
        ("2010-11 Premier League", "2010-11 Serie A", "2010-11"), ("1990-05-03 Paris", "1990-05-03", "1990-05-03 Roma"),
        ("1990-13-01", "1990-12-01"), ("32.01.1990", "31.01.1990"), ("1.200.300", "1200300"),
        ("nan", "inf", "0"), ("007", "7", "07"), ("1,200", "1.200", "120"), ("5 m", "5", "5 kg"),
        ("3 May 4 1990", "3 May 1990", "4 May 1990"), ("2 jui 1990", "2 juin 1990", "2 juillet 1990"),
        ("1,2,3", "123", "1.23"), ("0 800", "800"), ("1990/13/01", "1990-12-01"), ("101 Dalmatians", "101"),
    ],
)  # fmt: skip
def test_what_differs_differs(different):
    assert len({whole(value) for value in different}) == len(different) and all(map(whole, different))


@pytest.mark.parametrize("blank", ["", "   ", "\t\n", " " * 500 + "x", "!?", "http://www.wikidata.org/entity/Q64"])
def test_a_blank_value_has_no_form(blank):
    assert form_of(blank) == ("", "", "")


@pytest.mark.parametrize("text", ["nan", "NaN", "inf", "Infinity", "-inf", "1e999", "1e-999", "1_000", "0x1f"])
def test_texts_that_a_program_would_take_for_numbers_are_words(text):
    assert "=" not in form_of(text).words and whole(text)


def test_zeros_in_front_are_a_number_where_the_datatype_says_so():
    assert whole("007", XSD + "integer") == whole("7") == whole("007", "xsd:unsignedInt")
    assert form_of("007", XSD + "string") == form_of("007") == ("007", "007", "007")


def test_a_number_that_is_too_large_is_a_number_still():
    assert whole("1" + 90 * ",000" + "e99") == "inf"


@pytest.mark.parametrize(
    ("one", "other"), [("100", "101"), ("100", "99.1"), ("-100", "-101"), ("8848", "8849.86"), ("1e9", "1005000000")]
)
def test_near_numbers_share_a_word(one, other):
    assert shared(one, other) and whole(one) != whole(other)


@pytest.mark.parametrize(("one", "other"), [("100", "105"), ("100", "-100"), ("1", "0"), ("12", "1200"), ("0", "-1")])
def test_numbers_that_are_far_apart_share_none(one, other):
    assert not shared(one, other)


def test_a_year_is_part_of_a_date_and_a_number():
    assert shared("1990-05-03", "1990") == {"=1990"} and shared("3 May 1990", "1990-05") == {"=1990-05", "=1990"}
    assert form_of("-0044", XSD + "gYear").words == "=-044" and shared("1990年", "1990-05") == {"=1990"}
    assert form_of("1990", XSD + "gYear") == ("1990", "=1990", "") and whole("1990") == "1990"
    assert not shared("-1200-05-03", "-1201-05-03") and shared("-1200-05-03", "-1200-07-01") == {"=-1200"}


def test_long_texts_are_compared_by_their_words_alone_and_cut():
    long = "word " * 1000
    assert form_of(long).text == "" and len(form_of(long).words) < 401
    assert form_of("a" * MAX_NGRAM_TEXT_LENGTH).text and not form_of("a" * (MAX_NGRAM_TEXT_LENGTH + 1)).text
    assert form_of("9" * 10**6).whole == "9" * 400  # a code, not a number


def test_fractions_of_many_digits_are_near_on_a_finer_grid():
    assert form_of("41.1304722").nearly == form_of("41.1305").nearly != form_of("41.2304722").nearly
    assert len(shared("41.1304722", "41.1305")) == 4 and len(shared("-95.91251", "-95.9")) == 2
    assert form_of("12.5").nearly == "12.5" and form_of("1234").nearly == "1234" and form_of("").nearly == ""
    assert form_of("41.1304722 °C").nearly != form_of("41.1304722").nearly != form_of("-41.1304722").nearly
