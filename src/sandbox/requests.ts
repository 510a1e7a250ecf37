import { randomUUID } from 'node:crypto';
import express, { type RequestHandler } from 'express';
import { requestIdHeader } from './error-response.ts';

/** The id to quote to support. Errors have it in their body too. */
export const nameRequest: RequestHandler = (_request, response, next) => {
  response.setHeader(requestIdHeader, `req_${randomUUID()}`);
  next();
};

/** Every body is read as JSON, whatever its type. */
export const readJson = express.json({ type: () => true, strict: false, limit: '1mb' });
