/** A customer's connection, wherever it lives: in the configuration or, connected by command, in the database. */
export interface Install {
  /** The platform token for the marketplace. */
  token: string;
  /** Every secret that may sign deliveries. */
  webhookSecrets: readonly string[];
  /** The name of the tool that gets the people. */
  tool: string;
  /** Project ids, or `prefix*`: the wall around the customer (design section 2). */
  projects: readonly string[];
  livesIn: 'configuration' | 'database';
}
