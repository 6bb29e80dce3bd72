import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { defer, lastValueFrom, type Observable } from 'rxjs';
import type { AppRequest } from '../http/app-request.js';
import { ClockLocks } from './clock-locks.service.js';
import { SandboxClockController } from './sandbox.controller.js';

/** Handles each request of a merchant at the instant of its clock, which is not moved meanwhile. */
@Injectable()
export class StandingClockInterceptor implements NestInterceptor {
  constructor(private readonly locks: ClockLocks) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { user } = context.switchToHttp().getRequest<AppRequest>();
    if (user === undefined || context.getClass() === SandboxClockController) return next.handle();
    const handle = (): Promise<unknown> => lastValueFrom(next.handle(), { defaultValue: undefined });
    return defer(() => this.locks.during(user.merchantId, handle));
  }
}
