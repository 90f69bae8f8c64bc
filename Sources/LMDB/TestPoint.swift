import Synchronization
import Threading

/// Marked points between two steps if another thread may come in between.
///
/// Tests of races wait there for moments, so that orders happen that are rare otherwise. In a release
/// build a point is no code at all.
package enum TestPoint {
    #if DEBUG
        private struct Hooks {
            var last = 0
            var all: [Int: @Sendable (StaticString) -> Void] = [:]
        }

        private static let hooks = Locked(Hooks())
        private static let areHooked = Atomic(false)

        /// Calls a closure at every point from now on, beside those of others, which are called too.
        ///
        /// The closure may be called on any thread and with any lock held: it may only pass time.
        ///
        /// - Returns: The number by which it is unhooked.
        package static func hook(_ hook: @escaping @Sendable (StaticString) -> Void) -> Int {
            hooks.withLock { hooks in
                hooks.last += 1
                hooks.all[hooks.last] = hook
                areHooked.store(true, ordering: .relaxed)
                return hooks.last
            }
        }

        /// Ends what a hook began; other threads may be in its closure still.
        package static func unhook(_ number: Int) {
            hooks.withLock { hooks in
                hooks.all[number] = nil
                areHooked.store(!hooks.all.isEmpty, ordering: .relaxed)
            }
        }

        /// Marks a point, by a name that is for people.
        package static func mark(_ name: StaticString) {
            guard areHooked.load(ordering: .relaxed) else { return }
            for hook in hooks.withLock({ $0.all }).values { hook(name) }
        }
    #else
        /// Does nothing in a release build.
        package static func hook(_ hook: @escaping @Sendable (StaticString) -> Void) -> Int { 0 }

        /// Does nothing in a release build.
        package static func unhook(_ number: Int) {}

        /// Is nothing in a release build.
        @inlinable @inline(__always)
        package static func mark(_ name: StaticString) {}
    #endif
}
