import { appendFileSync } from 'node:fs';
import { trace } from '@opentelemetry/api';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';

/** What an operator gives to `--import`: an SDK that writes each span as a line of `SPANS_FILE`. */
const processor = {
  onStart() {},
  onEnd({ name, kind, attributes }) {
    appendFileSync(process.env.SPANS_FILE, `${JSON.stringify({ name, kind, attributes })}\n`);
  },
  async forceFlush() {},
  async shutdown() {},
};

trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [processor] }));
