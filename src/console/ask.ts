import { AppError } from '../domain/errors.ts';
import { operationOf } from '../operations/all.ts';
import { answer } from '../operations/answer.ts';
import { checkInput, type Field, fieldsOf, fromTexts } from '../operations/input.ts';
import type { Operation, OperationContext } from '../operations/operation.ts';
import type { PageRequest } from './page.ts';

const patienceMs = 120_000;

/**
 * Asks an operation as the operator who is signed in.
 *
 * @throws AppError as the operation does; `forbidden` for an act of a viewer
 */
export async function ask<Answer extends object>(
  { operator: { role }, by }: PageRequest,
  ctx: OperationContext,
  id: string,
  input: object = {},
): Promise<Answer> {
  const operation = operationOf(id);
  if (operation.role === 'operator' && role !== 'operator') throw new AppError('forbidden', 'A viewer cannot do this');
  const signal = AbortSignal.timeout(patienceMs);
  const call = { by, role, signal, loops: [], onProgress: () => undefined };
  return (await answer(operation, checkInput(operation.in, input), ctx, call)) as Answer;
}

/**
 * What a query or a form gives of the input of an operation. Other names and empty fields are left out.
 *
 * @throws AppError `invalid`
 */
export function inputIn(operation: Operation, given: URLSearchParams, fixed: object = {}): object {
  const texts = [...fieldsOf(operation.in)].flatMap(([name, field]) => {
    const values = given
      .getAll(name)
      .map(toPlain)
      .filter((value) => value !== '');
    return values.length === 0 ? [] : [[name, toText(field, values)] as const];
  });
  return checkInput(operation.in, { ...fromTexts(operation.in, Object.fromEntries(texts)), ...fixed });
}

function toText({ type }: Field, values: readonly string[]): string | string[] {
  if (type === 'list') return values.flatMap((value) => value.split(/[\s,]+/));
  return type === 'flag' && ['on', 'yes'].includes(values[0] ?? '') ? 'true' : (values[0] ?? '');
}

/** Without what no name or id has. */
export function toPlain(text: string): string {
  return text
    .replaceAll(/\p{Cc}/gu, '')
    .toWellFormed()
    .trim();
}
