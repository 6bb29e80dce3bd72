import type { LoggerService } from '@nestjs/common';
import type { Request, RequestHandler } from 'express';
import { type Logger, type LoggerOptions, pino } from 'pino';
import type { Config } from '../config/config.js';
import { requestIdOf } from '../http/request-id.js';

/** Lines that wait for a reader that does not read; later lines are dropped. */
const MOST_WAITING_BYTES = 8 * 1024 * 1024;

/** The one logger: JSON lines in production, readable ones in development. */
export function createLogger(config: Pick<Config, 'NODE_ENV' | 'LOG_LEVEL'>): Logger {
  const options: LoggerOptions = {
    level: config.LOG_LEVEL,
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    base: null,
  };
  if (config.NODE_ENV !== 'development') return withoutWaiting(options);
  return pino({
    ...options,
    transport: {
      target: 'pino-pretty',
      options: { translateTime: 'SYS:HH:MM:ss.l', ignore: 'pid,hostname', singleLine: true },
    },
  });
}

/**
 * Writes the lines of 100 ms at once, as a system call per line takes 5 % of the processor time of an order, and never
 * waits for the reader. The rest is written when the process exits; SIGKILL costs the last 100 ms.
 */
function withoutWaiting(options: LoggerOptions): Logger {
  const destination = pino.destination({
    sync: false,
    minLength: 4096,
    periodicFlush: 100,
    maxLength: MOST_WAITING_BYTES,
  });
  const logger = pino(options, destination);
  surviveFailures(destination);
  let dropped = 0;
  destination.on('drop', () => (dropped += 1));
  destination.on('drain', () => {
    if (dropped > 0) logger.warn({ lines: dropped }, 'log_lines_dropped');
    dropped = 0;
  });
  return logger;
}

/**
 * A full disk or a closed pipe costs lines of the log and must not end the process, as an unhandled error would. Nor may
 * it keep the process from exiting: sonic-boom's `flushSync` repeats for ever a write that fails with ENOSPC.
 */
function surviveFailures(destination: ReturnType<typeof pino.destination>): void {
  const flushSync = destination.flushSync.bind(destination);
  let isFailing = false;
  destination.on('error', () => (isFailing = true));
  destination.on('write', () => (isFailing = false));
  destination.flushSync = () => {
    if (!isFailing) flushSync();
  };
}

/**
 * Writes one line per request when it is over: what was asked and how it went; never a header, a body or a query.
 * A request whose client disconnected before its answer is `aborted`.
 */
export function logRequests(logger: Logger): RequestHandler {
  return (request, response, next) => {
    const startedAt = performance.now();
    response.once('close', () => {
      const { user } = request as unknown as { user?: { merchantId: string } };
      const { problemCode } = response.locals as { problemCode?: string };
      const line = {
        request_id: requestIdOf(request),
        method: request.method,
        route: routeOf(request),
        status: response.statusCode,
        duration_ms: Math.round(performance.now() - startedAt),
        ...(user && { merchant_id: user.merchantId }),
        ...(problemCode && { code: problemCode }),
        ...(!response.writableEnded && { aborted: true }),
      };
      logger[response.statusCode >= 500 ? 'error' : 'info'](line, 'request');
    });
    next();
  };
}

/** The pattern of the route. A path without one can hold anything, such as a document or a token, and is not logged. */
function routeOf(request: Request): string {
  const { route } = request as unknown as { route?: { path: string } };
  return route?.path ?? 'unknown';
}

/** What Nest logs while it starts helps only in debugging it. */
const FRAMEWORK = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

/** Lets Nest's own loggers write to the one logger. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.#write(FRAMEWORK.has(String(rest.at(-1))) ? 'debug' : 'info', message, rest);
  }
  error(message: unknown, ...rest: unknown[]): void {
    this.#write('error', message, rest);
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.#write('warn', message, rest);
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.#write('debug', message, rest);
  }
  verbose(message: unknown, ...rest: unknown[]): void {
    this.#write('trace', message, rest);
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.#write('fatal', message, rest);
  }

  /** Nest hands the name of the class that logs over as the last argument. */
  #write(level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace', message: unknown, rest: unknown[]): void {
    const context = typeof rest.at(-1) === 'string' ? (rest.at(-1) as string) : undefined;
    const text = rest.length > 1 && typeof rest[0] === 'string' ? rest[0] : undefined;
    if (message instanceof Error) this.logger[level]({ context, err: message }, message.message);
    else if (typeof message === 'object' && message !== null) this.logger[level]({ context, ...message }, text);
    else this.logger[level]({ context }, String(message));
  }
}
