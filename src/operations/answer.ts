import { AppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import { mayLeaveOutInstall } from './input.ts';
import type { Call, Operation, OperationContext } from './operation.ts';
import { refuseUnknown } from './values.ts';

/**
 * Runs an operation and cuts its answer to what is documented: a column that is added to a table does not get out by
 * itself. Strangers choose names, and tools may use addresses as ids, so every text is masked.
 *
 * @param input checked by the operation's schema
 */
export async function answer(
  operation: Operation,
  input: object,
  ctx: OperationContext,
  call: Call,
): Promise<Record<string, unknown>> {
  if (mayLeaveOutInstall(operation)) refuseUnknown(ctx, input);
  const given = await operation.run(input, ctx, call);
  const cut = operation.out.safeParse(given);
  if (!cut.success) {
    const [issue] = cut.error.issues;
    throw new AppError('internal', `The answer of ${operation.id} is not as documented at ${issue?.path.join('.')}`);
  }
  // What is stored of an install that is no longer configured can still be listed.
  if (isEmptyList(operation, cut.data)) refuseUnknown(ctx, input);
  const isWhole = operation.isSecret || (operation.isPersonal && call.role === 'operator');
  return isWhole ? cut.data : (maskAll(cut.data) as Record<string, unknown>);
}

function isEmptyList({ method, show }: Operation, found: object): boolean {
  return method === 'get' && 'rowsOf' in show && show.rowsOf(found).length === 0;
}

function maskAll(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map(maskAll);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, maskAll(one)]));
}
