import { createBenchTool } from './bench-tool.ts';

/** The tool of `start.ts`, as a file that a bridge loads. */
export default () => createBenchTool().adapter;
