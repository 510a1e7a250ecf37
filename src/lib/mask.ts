/**
 * Matches only where an address can begin, because long texts would take quadratic time. Of several `@`, the last counts,
 * because what follows the first would be shown as the domain: `x@amara.o@opentrain.work`.
 */
const emailPattern = /(?<![^\s<>"'(),;:])[^\s<>"'(),;:]+@[^\s@<>"'(),;:]+\.[^\s@<>"'(),;:]+/g;
const tokenPattern = /\b(ot_[a-z]{3}_|whsec_)[\w+/=-]+|\b((?:Bearer|Basic|Token)\s+)[\w.~+/=-]{8,}/gi;
/** Words of a sentence that look like a token: "Access Token Settings", "Token authentication failed". */
const wordPattern = /^[Tt]oken\s+[A-Z]?[a-z]{7,14}$/;
const urlPasswordPattern = /(:\/\/[^\s/:@]*:)[^\s/@]+@/g;

/** `a…@opentrain.work`: enough to recognise a person, not enough to write to them. */
export function maskEmail(email: string): string {
  const at = email.lastIndexOf('@');
  if (at < 1) return '…';
  return `${email.slice(0, 1)}…${email.slice(at)}`;
}

/** Masks every address and token in a text, and `secrets` in any encoding. */
export function maskText(text: string, secrets: readonly string[] = []): string {
  return withoutSecrets(text, secrets)
    .replace(tokenPattern, (found, prefix?: string, scheme?: string) =>
      wordPattern.test(found) ? found : `${prefix ?? scheme ?? ''}…`,
    )
    .replace(urlPasswordPattern, '$1…@')
    .replace(emailPattern, maskEmail);
}

/** The longest first, because one secret may contain another. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  const guises = secrets.flatMap(guisesOf).sort((one, other) => other.length - one.length);
  return guises.reduce((masked, guise) => masked.replaceAll(guise, '…'), text);
}

/** A secret as it is, and as it is written in a URL, in JSON, and in a basic authentication header. */
function guisesOf(secret: string): string[] {
  if (secret === '') return [];
  const inUrl = encodeURIComponent(secret.toWellFormed());
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [secret, inUrl, inJson, Buffer.from(secret).toString('base64')];
}
