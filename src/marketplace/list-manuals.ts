import type { Client } from './client.ts';
import { type Manual, manuals, workspaces } from './contract/instructions.ts';

/** All manuals, with their workspaces. */
export async function listManuals({ listWhole }: Pick<Client, 'listWhole'>, signal: AbortSignal) {
  const found: (Manual & { workspaceId: string; workspace: string })[] = [];
  for (const { id: workspaceId, name } of await listWhole(workspaces.list, {}, signal)) {
    const all = await listWhole(manuals.list, { workspaceId }, signal);
    found.push(...all.map((manual) => ({ ...manual, workspaceId, workspace: name ?? workspaceId })));
  }
  return found;
}
