import type { Adapter, Person } from '../adapters/adapter.ts';
import { AppError } from '../domain/errors.ts';
import { retry } from '../lib/retry.ts';
import { type Check, failure, ok } from '../operator/doctor-checks.ts';
import { callTool } from '../tools/call-tool.ts';
import { createCanaries } from './canaries.ts';

export interface Rehearsal {
  tool: string;
  adapter: Adapter;
  group: string;
  emailDomain: string;
}

const rehearsalTimeoutMs = 60_000;

/** Adds a made-up person to a group, and removes them again. */
export async function rehearse(
  { tool, adapter, group, emailDomain }: Rehearsal,
  stopping: AbortSignal,
): Promise<Check> {
  const name = `rehearsal in ${tool}`;
  const canaries = createCanaries(emailDomain);
  try {
    const isIn = await callTool(rehearsalTimeoutMs, stopping, (signal) =>
      addAndRemove(adapter, group, canaries.person(1), signal),
    );
    return ok(
      name,
      isIn
        ? `a made-up person was in ${group}, and is out again`
        : `a made-up person would be invited to ${group}; they are in it once they accept`,
    );
  } catch (error) {
    const left = await canaries.sweep(adapter, [group]);
    const remedy = `see what the token of tools.${tool} may do`;
    const action =
      left === 0 ? remedy : `take ${canaries.prefix}-1 out of ${group} by hand, who may still be in; then ${remedy}`;
    return failure(name, error, action);
  }
}

/** @returns whether the person was a member: a tool with one shared invitation does not list them */
async function addAndRemove(adapter: Adapter, group: string, person: Person, signal: AbortSignal): Promise<boolean> {
  const member = await adapter.addMember(group, person, signal);
  if (member.isUnlisted === true) return false;
  await expectFound(adapter, group, person, { isFound: true, signal });
  await adapter.removeMember(group, member, signal);
  await expectFound(adapter, group, person, { isFound: false, signal });
  return true;
}

/** Tools may need a moment to show what they did. */
async function expectFound(
  adapter: Adapter,
  group: string,
  person: Person,
  { isFound, signal }: { isFound: boolean; signal: AbortSignal },
): Promise<void> {
  const look = async () => {
    const found = await adapter.findMember(group, person, signal);
    if ((found !== null) === isFound) return;
    const what = isFound ? 'was not in after being added' : 'is still in after the removal';
    throw new AppError('unavailable', `The made-up person ${what}`);
  };
  await retry(look, { attempts: 3, firstWaitMs: 100, maxWaitMs: 500, signal });
}
