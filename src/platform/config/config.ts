import { applyDecorators, type DynamicModule, Module } from '@nestjs/common';
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
  ValidateBy,
  validateSync,
} from 'class-validator';
import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { databaseUrlFault, withPassword } from './database-url.js';
import { allowedOrigins, isLoopback, isPublicUrl, trustedProxies } from './network.js';

/**
 * A rule that sees the value, or an empty string if it is not set.
 *
 * @param message completes a sentence that begins with the variable's name.
 */
const Satisfies = <C>(
  isValid: (value: string, config: C) => boolean,
  message: string | ((value: string) => string),
): PropertyDecorator =>
  ValidateBy({
    name: 'satisfies',
    validator: {
      validate: (value: unknown, args) => isValid(textOf(value), args?.object as C),
      defaultMessage: (args) => (typeof message === 'string' ? message : message(textOf(args?.value))),
    },
  });

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'boolean' ? String(value) : '';

const Flag = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value)),
    IsBoolean({ message: 'must be true or false' }),
  );

const IntegerBetween = (low: number, high: number): PropertyDecorator => {
  const message = `must be a whole number from ${low} to ${high}`;
  return applyDecorators(
    Type(() => Number),
    IsInt({ message }),
    Min(low, { message }),
    Max(high, { message }),
  );
};

/**
 * The environment variables, validated once at startup; `.env.example` says what each does. The members have the
 * variables' names, so that startup errors and the code use the same ones.
 */
export class Config {
  /**
   * Decides the log format and whether placeholder secrets are refused. Production by default, which is the safe
   * choice.
   */
  @IsIn(['production', 'development', 'test'], { message: 'must be production, development or test' })
  readonly NODE_ENV: 'production' | 'development' | 'test' = 'production';

  @IsNotEmpty({ message: 'must be an address to listen on, such as 127.0.0.1' })
  readonly HOST: string = '127.0.0.1';

  @IntegerBetween(0, 65535)
  readonly PORT: number = 3000;

  @IntegerBetween(1, 3600)
  readonly KEEP_ALIVE_SECONDS: number = 65;

  /** What a sandbox adds is in `src/sandbox`. Its requests do not share statements, so that each has its own time. */
  @Flag()
  readonly SANDBOX: boolean = false;

  @Flag()
  readonly DOCS: boolean = true;

  @Flag()
  readonly BACK_OFFICE: boolean = true;

  @IsOptional()
  @Satisfies(isPublicUrl, 'must be an address such as https://api.shop.example/cashback, without a slash at the end')
  readonly PUBLIC_URL?: string;

  @IsOptional()
  @MinLength(16, { message: 'must be at least 16 characters' })
  readonly METRICS_TOKEN?: string;

  @Satisfies((value) => databaseUrlFault(value) === undefined, (value) => databaseUrlFault(value) ?? '')
  readonly DATABASE_URL!: string;

  @IsOptional()
  @IsString()
  readonly DATABASE_PASSWORD?: string;

  /** A use case never takes more than one connection at a time. */
  @IntegerBetween(1, 1000)
  readonly DATABASE_POOL_SIZE: number = 10;

  @Flag()
  readonly BATCH: boolean = true;

  @IntegerBetween(0, 60)
  readonly SHUTDOWN_DELAY_SECONDS: number = 1;

  @Satisfies(
    (value, { NODE_ENV }: Config) => isSigningSecret(value, NODE_ENV === 'production'),
    'must be at least 32 bytes with at least 8 different characters, and not a placeholder in production (try: openssl rand -base64 48)',
  )
  readonly JWT_SECRET!: string;

  @Satisfies(
    (value) => previousSecrets(value) !== undefined,
    'must be secrets of at least 32 bytes each, separated by commas',
  )
  readonly JWT_SECRET_PREVIOUS: string = '';

  @IntegerBetween(4, 16)
  readonly BCRYPT_COST: number = 10;

  @IntegerBetween(1, 64)
  readonly BCRYPT_CONCURRENCY: number = 1;

  @IntegerBetween(1, 86_400)
  readonly ACCESS_TOKEN_TTL_SECONDS: number = 3600;

  @IntegerBetween(1, 31_536_000)
  readonly REFRESH_TOKEN_TTL_SECONDS: number = 2_592_000;

  @IntegerBetween(1, 31_536_000)
  readonly SESSION_TTL_SECONDS: number = 7_776_000;

  @IntegerBetween(0, 300)
  readonly REFRESH_RETRY_WINDOW_SECONDS: number = 30;

  @IntegerBetween(1, 1_000_000)
  readonly LOGIN_RATE_LIMIT: number = 10;

  @IntegerBetween(0, 1_000_000)
  readonly RATE_LIMIT: number = 100;

  /** An endpoint of webhooks may fail for three days. */
  @IntegerBetween(4, 3650)
  readonly EVENT_RETENTION_DAYS: number = 90;

  @Flag()
  @Satisfies(
    (value, { NODE_ENV }: Config) => value !== 'true' || NODE_ENV !== 'production',
    'must be false in production: with it, webhooks reach private addresses',
  )
  @Satisfies(
    (value, { SANDBOX, HOST }: Config) => value !== 'true' || !SANDBOX || isLoopback(HOST),
    'must be false in a sandbox that listens beyond loopback: anybody can create a merchant there',
  )
  readonly WEBHOOK_ALLOW_PRIVATE: boolean = false;

  @IsOptional()
  @Satisfies(
    (value) => /^rediss?:\/\/[^/]+/.test(value) && URL.canParse(value),
    'must be a URL such as redis://user:password@host:6379/0 (or rediss://… for TLS)',
  )
  readonly REDIS_URL?: string;

  @Satisfies(
    (value) => trustedProxies(value) !== undefined,
    'must be the number of proxies in front of the service (0 to 10), or their addresses and subnets such as "10.0.0.0/8, fd00::/8" (the names loopback, linklocal and uniquelocal work too)',
  )
  readonly TRUST_PROXY: string = '';

  @Satisfies(
    (value) => allowedOrigins(value) !== undefined,
    'must be origins as browsers send them, such as "https://shop.example, https://admin.shop.example:8443": no path, no slash at the end, no *',
  )
  readonly CORS_ORIGINS: string = '';

  @Flag()
  readonly DOCUMENT_CHECK_DIGITS: boolean = false;

  @IsString()
  @IsIn(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    message: 'must be fatal, error, warn, info, debug, trace or silent',
  })
  readonly LOG_LEVEL: string = 'info';
}

/** Thrown when the configuration is not valid. The message lists every missing or invalid variable. */
export class ConfigError extends Error {
  constructor(readonly faults: string[]) {
    super(`The configuration is not valid:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/** @param env the variables; an empty one counts as not set. @throws ConfigError. */
export function loadConfig(env: Record<string, string | undefined>): Readonly<Config> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const config = plainToInstance(Config, given, { exposeDefaultValues: true });
  const faults = validateSync(config, { stopAtFirstError: true }).map((error) => {
    const rule = Object.values(error.constraints ?? {})[0] ?? 'is not valid';
    return `${error.property} ${given[error.property] === undefined ? 'is missing: it ' : ''}${rule}`;
  });
  if (faults.length > 0) throw new ConfigError(faults);
  const DATABASE_URL = withPassword(config.DATABASE_URL, config.DATABASE_PASSWORD);
  const { SANDBOX, BATCH } = config;
  return Object.freeze(Object.assign(config, { DATABASE_URL, BATCH: BATCH && !SANDBOX }));
}

/** @param defaults values for variables that are set neither in the environment nor in `.env`. */
export function loadProcessConfig(defaults: Record<string, string> = {}): Readonly<Config> {
  readEnvFile();
  return loadConfig({ ...defaults, ...process.env });
}

/** Reads `.env` if it exists. Variables that are already set keep their values. */
export function readEnvFile(): void {
  if (existsSync('.env')) process.loadEnvFile('.env');
}

@Module({})
export class ConfigModule {
  static with(config: Readonly<Config>): DynamicModule {
    return {
      module: ConfigModule,
      global: true,
      providers: [{ provide: Config, useValue: config }],
      exports: [Config],
    };
  }
}

/** A key for HMAC-SHA-256 must have at least this many bytes (RFC 7518, section 3.2). */
const MIN_BYTES = 32;

/** Only 1 in 20 million random hexadecimal secrets of that length has fewer different characters. */
const MIN_DIFFERENT_CHARACTERS = 8;

/** Placeholders such as the one in `.env.example` are accepted to try the service, but not in production. */
const PLACEHOLDER = /change[-_ ]?me|placeholder|example|secret-secret/i;

function isSigningSecret(secret: string, isProduction: boolean): boolean {
  return (
    isLongEnough(secret) &&
    new Set(secret).size >= MIN_DIFFERENT_CHARACTERS &&
    !(isProduction && PLACEHOLDER.test(secret))
  );
}

/**
 * Reads JWT_SECRET_PREVIOUS: secrets separated by commas.
 *
 * @returns the secrets; undefined if one is too short. Their characters are not checked, so that a weak secret can be
 *   replaced.
 */
function previousSecrets(list: string): string[] | undefined {
  const secrets = list.split(',').map((secret) => secret.trim());
  if (secrets.length === 1 && secrets[0] === '') return [];
  return secrets.every(isLongEnough) ? secrets : undefined;
}

export type SigningSecrets = Pick<Config, 'JWT_SECRET' | 'JWT_SECRET_PREVIOUS'>;

/** All secrets that the service accepts, the current one first. */
export function signingSecrets(config: SigningSecrets): [string, ...string[]] {
  return [config.JWT_SECRET, ...(previousSecrets(config.JWT_SECRET_PREVIOUS) ?? [])];
}

/** The keys of JWTs: the first one signs, each of them verifies. */
export function signingKeys(config: SigningSecrets): [KeyObject, ...KeyObject[]] {
  return keysOf(config, (secret) => Buffer.from(secret));
}

/**
 * Derives keys for HMAC-SHA-256 from the signing secrets by HKDF (RFC 5869).
 *
 * @param purpose keys for different purposes are independent of each other.
 * @returns the key of the current secret first.
 */
export function derivedKeys(config: SigningSecrets, purpose: string): [KeyObject, ...KeyObject[]] {
  return keysOf(config, (secret) => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32)));
}

/** Libraries convert any other type of key again on each use, which takes longer than the HMAC. */
function keysOf(config: SigningSecrets, bytesOf: (secret: string) => Buffer): [KeyObject, ...KeyObject[]] {
  const [current, ...previous] = signingSecrets(config);
  const keyOf = (secret: string): KeyObject => createSecretKey(bytesOf(secret));
  return [keyOf(current), ...previous.map(keyOf)];
}

function isLongEnough(secret: string): boolean {
  return Buffer.byteLength(secret) >= MIN_BYTES;
}
