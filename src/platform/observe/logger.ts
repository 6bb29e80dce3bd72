import { type LoggerService } from '@nestjs/common';
import { type NextFunction, type Response } from 'express';
import { type Level, type Logger, type LoggerOptions, pino } from 'pino';
import { type Config } from '../config/config.js';
import { type AppRequest } from '../http/app-request.js';

/** The size of the buffer for a slow reader of the log. When it is full, lines are dropped. */
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;

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
 * Writes lines in batches of 100 ms instead of with one system call per line, and never waits for the reader. The rest
 * is written when the process exits; SIGKILL loses the last 100 ms.
 */
function withoutWaiting(options: LoggerOptions): Logger {
  const destination = pino.destination({
    sync: false,
    minLength: 4096,
    periodicFlush: 100,
    maxLength: MAX_BUFFERED_BYTES,
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
 * A full disk or a closed pipe may lose log lines, but must not crash the process with an unhandled error. It must not
 * prevent the process from exiting either: since pinojs/sonic-boom#95, `flushSync` repeats a write that fails with
 * ENOSPC forever, and no option limits that. This is the only method of a library that the service replaces.
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

/** The path of an order, or of what belongs to one. */
const ORDER_PATH = /^\/orders\/([0-9a-f]{8}-[0-9a-f-]{27})(?:\/|$)/i;

/**
 * Writes one line per request when it ends, never with headers, the body or the query. A request whose client
 * disconnected before the response is `aborted`.
 */
export function logRequests(logger: Logger): (request: AppRequest, response: Response, next: NextFunction) => void {
  return (request, response, next) => {
    const startedAt = performance.now();
    // With TRUST_PROXY, the address that the edge saw. After the connection is closed, nobody knows it any more.
    const client = request.ip;
    response.once('close', () => {
      const { problemCode } = response.locals as { problemCode?: string };
      const [, order_id] = ORDER_PATH.exec(String(response.getHeader('location') ?? request.path)) ?? [];
      const line = {
        request_id: request.id,
        method: request.method,
        // The pattern of the route. Other paths are not logged, because they can contain documents or tokens.
        route: request.route?.path ?? 'unknown',
        status: response.statusCode,
        duration_ms: Math.round(performance.now() - startedAt),
        client,
        ...(request.user && {
          merchant_id: request.user.merchantId,
          api_user_id: request.user.apiUserId,
          session_id: request.user.sessionId,
        }),
        ...(request.user && order_id && { order_id }),
        ...(problemCode && { code: problemCode }),
        ...(!response.writableEnded && { aborted: true }),
      };
      logger[levelOf(line)](line, 'request');
    });
    next();
  };
}

/** Health checks and Prometheus ask all the time. */
function levelOf({ route, status }: { route: string; status: number }): Level {
  if (status >= 500) return 'error';
  return status < 300 && /^\/(health|metrics)\b/.test(route) ? 'debug' : 'info';
}

/** The contexts of Nest's startup messages, which are logged at the debug level. */
const FRAMEWORK = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

/** Forwards messages of Nest's loggers to the service's logger. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  readonly error = this.#writer('error');
  readonly warn = this.#writer('warn');
  readonly debug = this.#writer('debug');
  readonly verbose = this.#writer('trace');
  readonly fatal = this.#writer('fatal');

  log(message: unknown, ...rest: unknown[]): void {
    this.#write(FRAMEWORK.has(String(rest.at(-1))) ? 'debug' : 'info', message, rest);
  }

  #writer(level: Level): (message: unknown, ...rest: unknown[]) => void {
    return (message, ...rest) => this.#write(level, message, rest);
  }

  /** Nest passes the name of the logging class as the last argument. */
  #write(level: Level, message: unknown, rest: unknown[]): void {
    const context = typeof rest.at(-1) === 'string' ? (rest.at(-1) as string) : undefined;
    const text = rest.length > 1 && typeof rest[0] === 'string' ? rest[0] : undefined;
    if (message instanceof Error) this.logger[level]({ context, err: message }, message.message);
    else if (typeof message === 'object' && message !== null) this.logger[level]({ context, ...message }, text);
    else this.logger[level]({ context }, String(message));
  }
}
