import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { onTestFinished } from 'vitest';

/** What an operator's SDK would have, as `name: parent`, until the test ends. */
export interface RecordedSpans {
  /** The spans of a trace by name, each with the name of its parent, or with the id if that is not one of these. */
  of(traceId: string): [name: string, parent: string | undefined][];
  traceIds(): Set<string>;
  /** All attributes of all spans, as a text. */
  attributes(): string;
}

export function recordSpans(): RecordedSpans {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  onTestFinished(() => {
    trace.disable();
    context.disable();
  });
  const spans = () => exporter.getFinishedSpans();
  return {
    of(traceId) {
      const own = spans().filter((span) => span.spanContext().traceId === traceId);
      const names = new Map(own.map((span) => [span.spanContext().spanId, span.name]));
      return own.map(({ name, parentSpanContext }) => {
        const id = parentSpanContext?.spanId;
        return [name, names.get(id ?? '') ?? id];
      });
    },
    traceIds: () => new Set(spans().map((span) => span.spanContext().traceId)),
    attributes: () => JSON.stringify(spans().map(({ attributes }) => attributes)),
  };
}
