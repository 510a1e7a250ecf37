import { AppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import type { Call, Operation, OperationContext } from './operation.ts';

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
  const given = await operation.run(input, ctx, call);
  const cut = operation.out.safeParse(given);
  const isWhole = operation.isSecret || (operation.isPersonal && call.role === 'operator');
  if (cut.success) return isWhole ? cut.data : (maskAll(cut.data) as Record<string, unknown>);
  const [issue] = cut.error.issues;
  throw new AppError('internal', `The answer of ${operation.id} is not as documented at ${issue?.path.join('.')}`);
}

function maskAll(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map(maskAll);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, maskAll(one)]));
}
