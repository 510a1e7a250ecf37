import { z } from 'zod';
import { Config } from './config-schema.ts';
import type { Path } from './document.ts';

/**
 * Whether a string at this path may be a secret: one that the schema marks so, and all that only an
 * adapter knows.
 */
export function maySecretStandAt(path: Path): boolean {
  let schemas: z.core.$ZodType[] = [Config];
  for (const key of path) {
    schemas = schemas.flatMap((schema) => childrenOf(schema, key));
    if (schemas.some((schema) => defOf(schema).type === 'unknown')) return true;
  }
  return schemas.some(isSecret);
}

/** The schemas that apply at a path: several if the schema has several shapes. */
function childrenOf(schema: z.core.$ZodType, key: PropertyKey): readonly z.core.$ZodType[] {
  const def = defOf(schema);
  switch (def.type) {
    case 'object':
      return [Object.hasOwn(def.shape, key) ? def.shape[String(key)] : def.catchall].filter((one) => one !== undefined);
    case 'record':
      return [def.valueType];
    case 'array':
      return [def.element];
    case 'union':
      return def.options.flatMap((option) => childrenOf(option, key));
    default:
      return innerOf(schema).flatMap((inner) => childrenOf(inner, key));
  }
}

function isSecret(schema: z.core.$ZodType): boolean {
  return z.globalRegistry.get(schema)?.['secret'] === true || innerOf(schema).some(isSecret);
}

/** What it was before something was done with it, or a default was added. */
function innerOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  const def = defOf(schema);
  if (def.type === 'pipe') return [def.in];
  return 'innerType' in def ? [def.innerType] : [];
}

function defOf(schema: z.core.$ZodType) {
  return (schema as z.core.$ZodTypes)._zod.def;
}
