import { plainToInstance, Transform, Type } from 'class-transformer';
import {
  IsBoolean,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsOptional,
  IsString,
  Max,
  Min,
  MinLength,
  validateSync,
  ValidateBy,
} from 'class-validator';
import { parseDatabaseUrl, withPassword } from './database-url.js';
import { readEnvFile } from './env-file.js';
import { allowedOrigins } from './origins.js';
import { isSigningSecret, previousSecrets } from './signing-secrets.js';
import { trustedProxies } from './trust-proxy.js';

const AsBoolean = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value));

const integerBetween = (low: number, high: number): PropertyDecorator => {
  const message = `must be a whole number from ${low} to ${high}`;
  const rules = [Type(() => Number), IsInt({ message }), Min(low, { message }), Max(high, { message })];
  return (target, property) => rules.forEach((rule) => rule(target, property));
};

const IsSigningSecret = (): PropertyDecorator =>
  ValidateBy({
    name: 'isSigningSecret',
    validator: {
      validate: (value: unknown, args) =>
        typeof value === 'string' && isSigningSecret(value, (args?.object as Config).NODE_ENV === 'production'),
      defaultMessage: () =>
        'must be at least 32 bytes with at least 8 different characters, and in production no placeholder (try: openssl rand -base64 48)',
    },
  });

const ArePreviousSecrets = (): PropertyDecorator =>
  ValidateBy({
    name: 'arePreviousSecrets',
    validator: {
      validate: (value: unknown) => typeof value === 'string' && previousSecrets(value) !== undefined,
      defaultMessage: () => 'must be secrets of at least 32 bytes each, separated by commas',
    },
  });

const IsDatabaseUrl = (): PropertyDecorator =>
  ValidateBy({
    name: 'isDatabaseUrl',
    validator: {
      validate: (value: unknown) => databaseUrlFault(value) === undefined,
      defaultMessage: (args) => databaseUrlFault(args?.value) ?? '',
    },
  });

/** Returns what is wrong with DATABASE_URL, if anything. */
function databaseUrlFault(value: unknown): string | undefined {
  try {
    parseDatabaseUrl(typeof value === 'string' ? value : '');
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const IsRedisUrl = (): PropertyDecorator =>
  ValidateBy({
    name: 'isRedisUrl',
    validator: {
      validate: (value: unknown) =>
        typeof value === 'string' && /^rediss?:\/\/[^/]+/.test(value) && URL.canParse(value),
      defaultMessage: () => 'must be a URL such as redis://user:password@host:6379/0 (or rediss://… for TLS)',
    },
  });

const AreProxies = (): PropertyDecorator =>
  ValidateBy({
    name: 'areProxies',
    validator: {
      validate: (value: unknown) => typeof value === 'string' && trustedProxies(value) !== undefined,
      defaultMessage: () =>
        'must be the number of proxies in front of the service (0 to 10), or their addresses and subnets such as "10.0.0.0/8, fd00::/8" (loopback, linklocal and uniquelocal are known by name)',
    },
  });

const AreOrigins = (): PropertyDecorator =>
  ValidateBy({
    name: 'areOrigins',
    validator: {
      validate: (value: unknown) => typeof value === 'string' && allowedOrigins(value) !== undefined,
      defaultMessage: () =>
        'must be origins as browsers send them, such as "https://shop.example, https://admin.shop.example:8443": no path, no slash at the end, no *',
    },
  });

/**
 * The environment, validated once at start. The members carry the variables' own names, so that
 * `.env.example`, an error at start and the code speak of the same thing.
 */
export class Config {
  /** Decides log format and whether placeholder secrets are refused. Unset means production: safe by default. */
  @IsIn(['production', 'development', 'test'], { message: 'must be production, development or test' })
  readonly NODE_ENV: 'production' | 'development' | 'test' = 'production';

  /** The address to listen on. Loopback unless said otherwise; the image sets 0.0.0.0. */
  @IsNotEmpty({ message: 'must be an address to listen on, such as 127.0.0.1' })
  readonly HOST: string = '127.0.0.1';

  @integerBetween(0, 65535)
  readonly PORT: number = 3000;

  /** Lets several processes of the service listen on the same port; the kernel spreads connections over them. */
  @AsBoolean()
  @IsBoolean({ message: 'must be true or false' })
  readonly REUSE_PORT: boolean = false;

  /** Connections of clients; more than these are closed at once, and those without a request give way to new ones. */
  @integerBetween(1, 1_000_000)
  readonly MAX_CONNECTIONS: number = 8192;

  /** How long a connection without a request stays open, in seconds: longer than a load balancer keeps it, which is 60 for most. */
  @integerBetween(1, 3600)
  readonly KEEP_ALIVE_SECONDS: number = 65;

  /** Whether Swagger UI (`/docs`) and the OpenAPI document (`/docs-json`) are served. */
  @AsBoolean()
  @IsBoolean({ message: 'must be true or false' })
  readonly DOCS: boolean = true;

  /** The bearer token that `/metrics` asks for. Without it, anybody who reaches the port reads them. */
  @IsOptional()
  @MinLength(16, { message: 'must be at least 16 characters' })
  readonly METRICS_TOKEN?: string;

  /** `mysql://` for MySQL 8.4 and 9, `mariadb://` for MariaDB 10.11 and later. `parseDatabaseUrl` lists the parameters for TLS. */
  @IsDatabaseUrl()
  readonly DATABASE_URL!: string;

  /** The password of the user in `DATABASE_URL`, as it is. In the URL itself it would have to be percent-encoded. */
  @IsOptional()
  @IsString()
  readonly DATABASE_PASSWORD?: string;

  /** Connections of one process. A use case never takes more than one at a time. */
  @integerBetween(1, 1000)
  readonly DATABASE_POOL_SIZE: number = 10;

  /** How long the service goes on serving after SIGTERM while it already says that it is not ready. */
  @integerBetween(0, 60)
  readonly SHUTDOWN_DELAY_SECONDS: number = 1;

  /** Signs the JWT behind each access token. The keys that derive successors and hide what is rate-limited come from it by HKDF. */
  @IsSigningSecret()
  readonly JWT_SECRET!: string;

  /** Further secrets that are accepted and do not sign, separated by commas, so that JWT_SECRET can be changed. */
  @ArePreviousSecrets()
  readonly JWT_SECRET_PREVIOUS: string = '';

  /** Cost of bcrypt for new passwords: 12 is about a quarter of a second. */
  @integerBetween(4, 16)
  readonly BCRYPT_COST: number = 12;

  /** Comparisons of passwords at once; each takes a core for as long as it lasts, if nobody else wants it. */
  @integerBetween(1, 64)
  readonly BCRYPT_CONCURRENCY: number = 1;

  /** Logins that may wait for a comparison, at most a fifth of them for one user and half from one network; later ones get 503. */
  @integerBetween(0, 10_000)
  readonly BCRYPT_QUEUE: number = 10;

  @integerBetween(1, 86_400)
  readonly ACCESS_TOKEN_TTL_SECONDS: number = 3600;

  @integerBetween(1, 31_536_000)
  readonly REFRESH_TOKEN_TTL_SECONDS: number = 2_592_000;

  @integerBetween(1, 31_536_000)
  readonly SESSION_TTL_SECONDS: number = 7_776_000;

  @integerBetween(0, 300)
  readonly REFRESH_RETRY_WINDOW_SECONDS: number = 30;

  /**
   * Logins that may fail in 15 minutes for one user from one network; five times as many from one network, and for one
   * user from all networks that it has not logged in from.
   */
  @integerBetween(1, 1_000_000)
  readonly LOGIN_RATE_LIMIT: number = 10;

  /**
   * Requests per second under /orders and /wallets of one API user, and to /auth/refresh from one network, plus a burst of
   * ten times as many per minute. 0 turns it off.
   */
  @integerBetween(0, 1_000_000)
  readonly RATE_LIMIT: number = 100;

  /** Where requests are counted for all instances together; without it, or while it is unreachable, per instance. */
  @IsOptional()
  @IsRedisUrl()
  readonly REDIS_URL?: string;

  /** Whose `X-Forwarded-For` is believed: nobody's, so many proxies', or that of proxies at these addresses. */
  @AreProxies()
  readonly TRUST_PROXY: string = '';

  /** Origins of pages whose scripts may call the service from a browser. Empty: none, and no answer speaks of it (CORS). */
  @AreOrigins()
  readonly CORS_ORIGINS: string = '';

  /** Whether a document's two check digits must hold. */
  @AsBoolean()
  @IsBoolean({ message: 'must be true or false' })
  readonly CPF_CHECK_DIGITS: boolean = false;

  @IsString()
  @IsIn(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    message: 'must be fatal, error, warn, info, debug, trace or silent',
  })
  readonly LOG_LEVEL: string = 'info';
}

/** Thrown when the environment is not fit to start with; the message names every bad variable at once. */
export class ConfigError extends Error {
  constructor(readonly faults: string[]) {
    super(`The configuration is not valid:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/**
 * Reads the configuration out of an environment.
 *
 * @param env the variables; an empty one counts as not set.
 * @throws ConfigError naming every missing or bad variable.
 */
export function loadConfig(env: Record<string, string | undefined>): Readonly<Config> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const config = plainToInstance(Config, given, { exposeDefaultValues: true });
  const faults = validateSync(config, { stopAtFirstError: true }).map((error) => {
    const rule = Object.values(error.constraints ?? {})[0] ?? 'is not valid';
    return `${error.property} ${given[error.property] === undefined ? 'is missing: it ' : ''}${rule}`;
  });
  if (faults.length > 0) throw new ConfigError(faults);
  const DATABASE_URL = withPassword(config.DATABASE_URL, config.DATABASE_PASSWORD);
  return Object.freeze(Object.assign(config, { DATABASE_URL }));
}

/**
 * The configuration of this process: its environment, completed by a `.env` file where there is one.
 *
 * @param instead what stands for variables that are set in neither.
 */
export function loadProcessConfig(instead: Record<string, string> = {}): Readonly<Config> {
  readEnvFile();
  return loadConfig({ ...instead, ...process.env });
}
