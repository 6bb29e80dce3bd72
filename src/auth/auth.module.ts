import { Module, type OnModuleInit } from '@nestjs/common';
import { JwtModule } from '@nestjs/jwt';
import { PassportModule } from '@nestjs/passport';
import { Config } from '../config/config.js';
import { signingKeys } from '../config/signing-secrets.js';
import { Metrics } from '../metrics/metrics.js';
import { RateLimitsModule } from '../rate-limits/rate-limits.module.js';
import { AccessTokenStrategy, JWT_ALGORITHM, JWT_AUDIENCE, JWT_ISSUER } from './caller.guard.js';
import { ApiUsersModule } from './api-users.module.js';
import { AuthController } from './auth.controller.js';
import { AuthService } from './auth.service.js';
import { Passwords } from './passwords.js';
import { TokenSetsService } from './token-sets.service.js';
import { MeController, UsersController } from './users.controller.js';
import { UsersService } from './users.service.js';

@Module({
  imports: [
    ApiUsersModule,
    RateLimitsModule,
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
  providers: [AuthService, UsersService, TokenSetsService, AccessTokenStrategy],
  exports: [TokenSetsService],
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
