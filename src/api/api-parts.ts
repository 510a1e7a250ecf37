import type { ConsoleParts, ConsoleServices } from '../console/console-parts.ts';
import type { Channel } from '../notify/channel.ts';
import type { PreviewAllDeps } from '../operator/preview-all.ts';
import type { Source } from '../sources/source.ts';

/** What the operations read from and act with: what the pages of the console do, and a little more. */
export interface ApiParts extends ConsoleParts {
  services: ApiServices;
}

export interface ApiServices extends ConsoleServices, PreviewAllDeps {
  sources: ReadonlyMap<string, Source>;
  /** Where notifications are sent. */
  channels: readonly Channel[];
}
