/**
 * What a command sees of the world it was started from. stdout is data, stderr is for people;
 * `signal` is aborted when the command is asked to stop.
 */
export interface Terminal {
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
  stdin: NodeJS.ReadStream;
  signal: AbortSignal;
}
