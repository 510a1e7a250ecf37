/** Values in links and in the answers of tools. Pure. */

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An id as text; undefined if it is no id. Some tools use numbers, which are not exact beyond the safe integers. */
export function toId(id: unknown): string | undefined {
  if (typeof id === 'string' && id !== '') return id;
  return Number.isSafeInteger(id) ? String(id) : undefined;
}

/**
 * Whether a text is a number in its normal form, for tools whose ids are numbers. With `007` a customer would reach a
 * project by another id than the operator allowed.
 */
export function isNumericId(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text);
}
