import { Module, type OnModuleInit } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { JwtModule } from '@nestjs/jwt';
import { PassportModule } from '@nestjs/passport';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { Config, signingKeys } from '../platform/config/config.js';
import { ResponseInterceptor, ResponseNames } from '../platform/http/response.interceptor.js';
import { Metrics } from '../platform/observe/metrics.js';
import { ApiUsersService } from './api-users.service.js';
import { AuthController, MeController, UsersController } from './auth.controller.js';
import { AuthService } from './auth.service.js';
import { AccessTokenStrategy, JWT_ALGORITHM, JWT_AUDIENCE, JWT_ISSUER } from './caller.guard.js';
import { LoginCounts, LoginLimit } from './login-limit.js';
import { Passwords } from './passwords.js';
import { SessionsService } from './sessions.service.js';
import { UserNames } from './user-names.service.js';
import { UsersService } from './users.service.js';

/** Inside a sandbox's interceptor, which scans earlier: also the pages of a file are read at the merchant's clock. */
const RESPONSES = [
  { provide: ResponseNames, useExisting: UserNames },
  { provide: APP_INTERCEPTOR, useClass: ResponseInterceptor },
];

const SHARED = [ApiUsersService, LoginCounts, LoginLimit, Passwords, SessionsService, UserNames, UsersService];

@Module({
  imports: [
    MerchantsModule,
    PassportModule,
    JwtModule.registerAsync({
      inject: [Config],
      useFactory: (config: Config) => ({
        secret: signingKeys(config)[0],
        signOptions: { algorithm: JWT_ALGORITHM, issuer: JWT_ISSUER, audience: JWT_AUDIENCE },
      }),
    }),
  ],
  controllers: [AuthController, UsersController, MeController],
  providers: [...SHARED, ...RESPONSES, AuthService, AccessTokenStrategy],
  exports: SHARED,
})
export class AuthModule implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly passwords: Passwords,
  ) {}

  onModuleInit(): void {
    this.metrics.gauge('bcrypt_comparisons', 'Password comparisons running and waiting', () => this.passwords.load);
  }
}
