/** Values in links and in the answers of tools. Pure. */

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An id as text, or undefined. Some tools use numbers, of which greater ones than these are not exact. */
export function toId(id: unknown): string | undefined {
  if (typeof id === 'string' && id !== '') return id;
  return Number.isSafeInteger(id) ? String(id) : undefined;
}

/**
 * Whether a text is a number in its normal form, for tools in which ids are numbers. With `007` a customer would reach
 * a project by another id than the operator allowed.
 */
export function isNumericId(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text);
}
