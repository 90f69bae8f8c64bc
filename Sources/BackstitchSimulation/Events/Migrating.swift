import Backstitch
import BackstitchStore
import BackstitchTesting

/// Versions of the application with more or fewer data migrations.
struct Migrating {
    let devices: SimulatedDevices
    let choices: StepChoices
    let story: SimulationStory
    let checks: StoreChecks
    let routine: DeviceRoutine

    /// Ends a device's process, and starts it in a version of the application. Other processes on the store
    /// go on, in the versions that they have.
    func take(_ count: Int, failsAfter: Int?, _ index: Int) async throws {
        guard !devices[index].isCrashed, !devices.exchanging.contains(index) else { return }
        let home = devices[index].home
        let before = devices[index].migrations
        var isWhole = try home.migrations.isNew(to: devices[index].store)
        home.migrations.fail(after: failsAfter)
        do {
            try await routine.reopen(index, migrations: count)
        } catch let error as StoreError where error.code == .migrationFailed {
            home.migrations.fail(after: nil)
            story.note("\(devices[index].name) fails in a data migration")
            let goesOn = choices.generator.chance(0.5)
            isWhole = isWhole && goesOn
            try await routine.reopen(index, migrations: goesOn ? count : before)
        }
        home.migrations.fail(after: nil)
        let device = devices[index]
        if device.schema != .old {
            try home.migrations.opened(device.store, device.migrations, isWhole: isWhole)
        }
        story.count(.dataMigration)
        story.note("\(device.name) has \(device.migrations) data migrations")
        try checks.checkMigrations(index)
        try checks.check(index)
    }
}
