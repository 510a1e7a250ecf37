/** Schemes without `//` that programs turn into links. */
const scheme = /(?:mailto|callto|skype|xmpp|magnet|bitcoin|javascript|(?:^|[^a-z])(?:tel|sms|sips?)):\S/i;

/** Characters that some programs treat as the dot in a host name. */
const dots = /[.\u3002\uff0e\uff61\u2024\ufe52]/gu;

/** A dot before what may be a domain, and not an abbreviation, a version or a number. */
const domain = /(?<=[^.])\.(?=\p{L}\p{M}*\p{L}|xn--)/giu;
const domainInSmallLetters = /(?<=[^.])\.(?=\p{Ll}\p{M}*\p{L}|[xX][nN]--)/u;

/**
 * A text of strangers, without anything that a mail or chat program turns into a link. URLs, mail
 * addresses, host names and IP addresses become `…`. A word with a dot before a capital (`Dr.Smith`),
 * or without small letters, gets a space after the dot and stays readable. Pure. White space becomes
 * one space, so the result is one line.
 */
export function withoutLinks(text: string): string {
  return text.split(/\s+/u).map(withoutLink).join(' ');
}

function withoutLink(word: string): string {
  // Programs differ in which forms of a letter they accept, so all forms are normalised.
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
