import { warningsOf } from '../../config/cross-checks.ts';
import type { Context } from '../../context.ts';
import type { Storage } from '../../keys/storage.ts';
import { type Check, checkChannels, checkConfiguration, checkTool } from './doctor-checks.ts';
import { type Examined, examine } from './examine.ts';
import { examineMarketplace } from './examine-marketplace.ts';
import { checkServer } from './tool-servers.ts';

/** What `gangway doctor` checks, for a bridge that runs. Changes nothing; no question waits for long. */
export async function examineBridge(ctx: Context, signal: AbortSignal): Promise<Check[]> {
  const { config, sources } = ctx;
  const { publicUrl } = config.receiver;
  const asked = { sources, publicUrl, schedule: config.reconcile.schedule };
  const [tools, marketplace, stored] = await Promise.all([
    examineTools(ctx, ctx, signal),
    examineMarketplace(asked, signal),
    examine(ctx),
  ]);
  return [
    ...checkConfiguration(config, warningsOf(config)),
    ...checkChannels(config.notifications),
    ...tools,
    ...marketplace,
    ...stored,
  ];
}

/** Without a database, what each tool is bound to is not known. */
export async function examineTools(
  ctx: Storage | undefined,
  { config, adapters }: Pick<Examined, 'config' | 'adapters'>,
  signal: AbortSignal,
): Promise<Check[]> {
  const configured = new Set(config.tools.keys());
  const checks = [...adapters].map(async ([tool, adapter]) => {
    const { settings = {} } = config.tools.get(tool) ?? {};
    return [
      ...(await checkTool(tool, adapter, signal)),
      ...(ctx === undefined ? [] : await checkServer(ctx, { tool, adapter, settings }, configured, signal)),
    ];
  });
  return (await Promise.all(checks)).flat();
}
