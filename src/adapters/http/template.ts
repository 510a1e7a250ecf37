import { AppError } from '../../domain/errors.ts';
import { pathSegment } from '../../lib/url.ts';

/**
 * Texts with placeholders. Values are inserted once and not expanded again, because strangers chose
 * them: a value `{email}` stays as it is.
 */
export type TemplateValues = ReadonlyMap<string, string>;

export function toValues(values: Record<string, string | null | undefined>): TemplateValues {
  return new Map(Object.entries(values).flatMap(([name, value]) => (value == null ? [] : [[name, value] as const])));
}

/** Any JSON; its strings are templates, its keys are not. */
export type JsonTemplate = string | number | boolean | null | JsonTemplate[] | { [key: string]: JsonTemplate };

const pattern = /\{([A-Za-z]+)\}/g;

/** The names in the braces, in order. */
export function placeholdersOf(template: JsonTemplate): string[] {
  if (typeof template === 'string') return [...template.matchAll(pattern)].map(([, name = '']) => name);
  if (template === null || typeof template !== 'object') return [];
  return Object.values(template).flatMap(placeholdersOf);
}

/** @throws AppError `invalid` for a placeholder without a value */
export function expandText(template: string, values: TemplateValues): string {
  return template.replace(pattern, (_, name: string) => toValue(name, values));
}

/** @throws AppError `invalid` also for a value that cannot be one segment of a path */
export function expandPath(template: string, values: TemplateValues): string {
  return template.replace(pattern, (_, name: string) => pathSegment(toValue(name, values)));
}

/** @throws AppError `invalid` for a placeholder without a value */
export function expandJson(template: JsonTemplate, values: TemplateValues): JsonTemplate {
  if (typeof template === 'string') return expandText(template, values);
  if (template === null || typeof template !== 'object') return template;
  if (Array.isArray(template)) return template.map((item) => expandJson(item, values));
  const entries = Object.entries(template);
  return Object.fromEntries(entries.map(([key, value]) => [key, expandJson(value, values)]));
}

function toValue(name: string, values: TemplateValues): string {
  const value = values.get(name);
  if (value !== undefined) return value;
  throw new AppError('invalid', `The request needs {${name}}, and there is none for this member`);
}
