/** The part of a value that may be shown in a log, an error or a metric. */

/**
 * Matches only where an address can begin, because otherwise long texts would take quadratic time. Of several `@` the
 * last counts, or what is behind the first would be shown as its domain: `x@amara.o@opentrain.work`.
 */
const emailPattern = /(?<![^\s<>"'(),;:])[^\s<>"'(),;:]+@[^\s@<>"'(),;:]+\.[^\s@<>"'(),;:]+/g;
const tokenPattern = /\b(ot_[a-z]{3}_|whsec_)[\w+/=-]+|\b((?:Bearer|Basic|Token)\s+)[\w.~+/=-]{8,}/gi;
/** Words of a sentence, which are no token: "Access Token Settings", "Token authentication failed". */
const wordPattern = /^[Tt]oken\s+[A-Z]?[a-z]{7,14}$/;
const urlPasswordPattern = /(:\/\/[^\s/:@]*:)[^\s/@]+@/g;

/** `a…@opentrain.work`: enough to recognise a known person, not enough to write to them. */
export function maskEmail(email: string): string {
  const at = email.lastIndexOf('@');
  if (at < 1) return '…';
  return `${email.slice(0, 1)}…${email.slice(at)}`;
}

/** Masks every address and token in a text of another system, and `secrets` in any encoding. */
export function maskText(text: string, secrets: readonly string[] = []): string {
  return withoutSecrets(text, secrets)
    .replace(tokenPattern, (found, prefix?: string, scheme?: string) =>
      wordPattern.test(found) ? found : `${prefix ?? scheme ?? ''}…`,
    )
    .replace(urlPasswordPattern, '$1…@')
    .replace(emailPattern, maskEmail);
}

/** The longest first, because a secret that contains another would otherwise leave its rest. */
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
