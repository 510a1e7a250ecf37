import type { ConsoleParts, ConsoleServices } from '../console/console-parts.ts';
import type { Channel } from '../notify/channel.ts';

/** What the operations read from and act with: what the pages of the console do, and a little more. */
export interface ApiParts extends ConsoleParts {
  services: ApiServices;
}

export interface ApiServices extends ConsoleServices {
  /** Where notifications are sent. */
  channels: readonly Channel[];
}
