/* Threads, locks and a clock on POSIX and on Windows. Include this before all headers: it sets the
 * version of POSIX that they declare. */
#ifndef QN_THREADS_H
#define QN_THREADS_H

#if defined(_WIN32)

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <stdint.h>
#include <windows.h>

typedef SRWLOCK qn_mutex;
typedef CONDITION_VARIABLE qn_condition;
typedef HANDLE qn_thread;
#define QN_MUTEX_INIT SRWLOCK_INIT
#define QN_CONDITION_INIT CONDITION_VARIABLE_INIT
#define QN_THREAD_MAIN static DWORD WINAPI /* returns 0 */
typedef LPTHREAD_START_ROUTINE qn_thread_main;

static inline void qn_lock(qn_mutex *mutex) { AcquireSRWLockExclusive(mutex); }
static inline void qn_unlock(qn_mutex *mutex) { ReleaseSRWLockExclusive(mutex); }
static inline void qn_wait(qn_condition *condition, qn_mutex *mutex) {
    SleepConditionVariableSRW(condition, mutex, INFINITE, 0);
}
static inline void qn_wake_all(qn_condition *condition) { WakeAllConditionVariable(condition); }

/* Start a thread. Return 0, or an error if the system has no more threads. */
static inline int qn_thread_start(qn_thread *thread, qn_thread_main run, void *argument) {
    *thread = CreateThread(NULL, 0, run, argument, 0, NULL);
    return *thread == NULL;
}
static inline void qn_thread_join(qn_thread thread) {
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}
static inline void qn_thread_detach(qn_thread thread) { CloseHandle(thread); }
static inline void qn_yield(void) { SwitchToThread(); }

/* Windows has no fork(): threads and their pools always belong to one process. */
static inline long qn_process(void) { return 1; }

static inline int64_t qn_nanoseconds(void) {
    LARGE_INTEGER ticks, per_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&per_second);
    const int64_t seconds = ticks.QuadPart / per_second.QuadPart;
    return seconds * 1000000000 +
           ticks.QuadPart % per_second.QuadPart * 1000000000 / per_second.QuadPart;
}

#else

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

typedef pthread_mutex_t qn_mutex;
typedef pthread_cond_t qn_condition;
typedef pthread_t qn_thread;
#define QN_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
#define QN_CONDITION_INIT PTHREAD_COND_INITIALIZER
#define QN_THREAD_MAIN static void * /* returns 0 */
typedef void *(*qn_thread_main)(void *);

static inline void qn_lock(qn_mutex *mutex) { pthread_mutex_lock(mutex); }
static inline void qn_unlock(qn_mutex *mutex) { pthread_mutex_unlock(mutex); }
static inline void qn_wait(qn_condition *condition, qn_mutex *mutex) {
    pthread_cond_wait(condition, mutex);
}
static inline void qn_wake_all(qn_condition *condition) { pthread_cond_broadcast(condition); }

/* Start a thread. Return 0, or an error if the system has no more threads. The application's
 * threads receive all signals. */
static inline int qn_thread_start(qn_thread *thread, qn_thread_main run, void *argument) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int status = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}
static inline void qn_thread_join(qn_thread thread) { pthread_join(thread, NULL); }
static inline void qn_thread_detach(qn_thread thread) { pthread_detach(thread); }
static inline void qn_yield(void) { sched_yield(); }

/* A child of fork() has none of its parent's threads. */
static inline long qn_process(void) { return (long)getpid(); }

static inline int64_t qn_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif

#endif
