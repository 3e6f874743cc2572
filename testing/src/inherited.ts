/** The variables that a program started by a test takes from this process. Node starts much faster with code that it compiled before. */
export const INHERITED = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] };
