export interface StyleLine {
  readonly choiceType: string;
  readonly instruction: string;
}

const line = (choiceType: string, instruction: string): StyleLine => ({ choiceType, instruction });

const initials = line("INITIALS3", "Max 3 initials: first, LAST, middle");
const thread = line("THREAD", "Choose a thread color");

/** Style code → its lines, in display order. A choice type without choices is text that the customer types. */
export const styles: Readonly<Record<string, readonly StyleLine[]>> = {
  ENGMON3: [initials, line("MONFONT", "Choose a monogram style")],
  ENGMON1: [line("LETTER", "Choose one initial"), line("ENGFONT", "Choose a lettering style")],
  ENGBLK1: [line("TEXT20", "Block letters. Up to 20 characters, spaces included")],
  ENGBLK2: [
    line("TEXT20", "Line 1, block letters: up to 20 characters"),
    line("TEXT20", "Line 2 (optional): up to 20 characters"),
  ],
  ENGBLK3: [
    line("TEXT20", "Line 1: up to 20 characters, for example “Best in Show”"),
    line("TEXT20", "Line 2 (optional): up to 20 characters"),
    line("TEXT20", "Line 3 (optional): up to 20 characters"),
  ],
  ENGSCR2: [
    line("TEXT20", "Line 1, script: up to 20 characters; é, ñ and ü are fine"),
    line("TEXT20", "Line 2 (optional): up to 20 characters"),
  ],
  ENGCRST: [line("CREST", "Choose a crest"), line("TEXT12", 'Family name: up to 12 characters, e.g. "O\'Hara"')],
  ENGDATE: [
    line("MONTH", "Month"),
    line("DAY", "Day"),
    line("YEAR4", "Year: 4 digits, e.g. 2026. We write “June 6, 2026”, never 06/06/26"),
  ],
  ENGMSG: [
    line("TEXT30", 'Line 1: up to 30 characters, "quotation marks" included'),
    line("TEXT30", "Line 2 (optional): up to 30 characters"),
    line("TEXT30", "Line 3 (optional): up to 30 characters. No emoji, please"),
  ],
  ENGNAMD: [
    line("TEXT20", "Name: up to 20 characters"),
    line("DATE10", "Date: up to 10 characters, exactly as you want it to read"),
    line("ENGFONT", "Choose a lettering style"),
  ],
  ETCMON3: [initials, line("MONFONT", "Choose a monogram style"), line("ETCPLACE", "Where on the glass?")],
  ETCINIT: [line("LETTER", "Choose one initial"), line("ETCPLACE", "Where on the glass?")],
  ETCBLK2: [line("TEXT12", "Line 1: up to 12 characters"), line("TEXT12", "Line 2 (optional): up to 12 characters")],
  ETCMOTF: [line("MOTIF", "Choose a motif"), line("TEXT12", "Name below it (optional): up to 12 characters")],
  ETCWRTH: [line("WREATH", "Choose a wreath"), line("LETTER", "Choose the initial inside it")],
  EMBNAME: [
    line("TEXT12", "Name: up to 12 characters, capitals as typed"),
    thread,
    line("EMBFONT", "Choose a lettering style"),
  ],
  EMBMON3: [initials, thread, line("EMBFONT", "Choose a lettering style")],
  EMBINIT: [line("LETTER", "Choose one initial"), thread],
  EMBMOTF: [line("MOTIF", "Choose a motif"), thread],
  EMBSCR1: [line("TEXT12", "Script: up to 12 characters, e.g. Zoë or Jean-René"), thread],
  LASFAM: [
    line("TEXT20", "Family name: up to 20 characters, e.g. THE NÚÑEZ FAMILY"),
    line("YEAR4", "Established (optional): 4 digits"),
  ],
  LASNAME: [line("TEXT12", "Name: up to 12 characters"), line("ENGFONT", "Choose a lettering style")],
  LASCOOR: [line("TEXT30", "Coordinates: up to 30 characters, e.g. 40° 26′ 46″ N, 79° 58′ 56″ W")],
  LASRECP: [
    line("TEXT30", 'Title: up to 30 characters, e.g. From the Kitchen of "Nana" Ruth'),
    line("MOTIF", "Choose a motif"),
  ],
  BBYNAME: [line("TEXT12", "First name: up to 12 characters"), line("NURMOTIF", "Choose a friend")],
  BBYBIRT: [
    line("TEXT20", "Name: up to 20 characters"),
    line("TEXT30", "Date and hour: up to 30 characters, e.g. June 6, 2026, 3:42 am"),
    line("TEXT20", 'Weight and length: up to 20 characters, e.g. 7 lb 4 oz, 20½"'),
  ],
  BBYZOD: [line("ZODIAC", "Choose a sign"), line("TEXT12", "First name (optional): up to 12 characters")],
  ORNNAME: [line("TEXT12", "Name: up to 12 characters")],
  ORNFAMY: [
    line("TEXT20", "Line 1: up to 20 characters, e.g. Ana & José"),
    line("TEXT20", "Line 2 (optional): up to 20 characters"),
    line("YEAR", "Choose a year"),
  ],
  ORNPAWS: [line("TEXT12", "Pet’s name: up to 12 characters, e.g. Mr. Waffles"), line("YEAR", "Choose a year")],
  RNGSIZE: [line("RINGSIZE", "Ring size, US; if between two, choose the larger"), initials],
  RNGCRST: [line("RINGSIZE", "Ring size, US; if between two, choose the larger"), line("CREST", "Choose a crest")],
  JWLSTON: [line("BIRTHSTN", "Choose a birthstone"), line("LETTER", "Choose one initial")],
  JWLBACK: [line("TEXT20", 'Back: up to 20 characters, e.g. "Yes, always"')],
  GFTBOX: [line("GIFTBOX", "Add a gift box?"), line("TEXT30", "Card (optional): up to 30 characters 🎁")],
};
