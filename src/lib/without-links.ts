/** Programs that turn text into links do so for these, too, and for no other scheme without `//`. */
const scheme = /(?:mailto|callto|skype|xmpp|magnet|bitcoin|javascript|(?:^|[^a-z])(?:tel|sms|sips?)):\S/i;

/** What some take for the dot between two parts of the name of a host. */
const dots = /[.\u3002\uff0e\uff61\u2024\ufe52]/gu;

/** A part behind a dot that may be a domain's: no abbreviation, no version, no number. */
const domain = /(?<=[^.])\.(?=\p{L}\p{M}*\p{L}|xn--)/giu;
const domainInSmallLetters = /(?<=[^.])\.(?=\p{Ll}\p{M}*\p{L}|[xX][nN]--)/u;

/**
 * A text that strangers chose, without anything that a mail or chat program would make a link of:
 * addresses of pages, of people, of hosts and of machines are each `…`. What merely has a dot within
 * it and begins anew with a capital (`Dr.Smith`), or is written without small letters, is parted
 * there and stays readable. Pure; on one line: runs of white space become one space.
 */
export function withoutLinks(text: string): string {
  return text.split(/\s+/u).map(withoutLink).join(' ');
}

function withoutLink(word: string): string {
  // Programs differ in which forms of a letter they look through: so all of them are.
  const plain = word
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replace(dots, '.');
  if (isAddress(plain) || domainInSmallLetters.test(plain)) return '…';
  const parted = plain.replace(domain, '. ');
  return parted === plain ? word : parted;
}

function isAddress(word: string): boolean {
  return (
    /:\/\/|\/\/[\p{L}\p{N}]|\\\\|www\d*\.|\S@\S/iu.test(word) ||
    scheme.test(word) ||
    /(?:^|\D)\d{1,3}(?:\.\d{1,3}){3}(?!\d)/.test(word)
  );
}
