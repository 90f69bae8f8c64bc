import Backstitch
import BackstitchStore

/// What devices keep to themselves, and take off themselves.
struct StayingLocal {
    let devices: SimulatedDevices
    let choices: StepChoices
    let story: SimulationStory
    let routine: DeviceRoutine

    /// A transaction of the application that stays on the device.
    func editLocally(_ index: Int) async throws {
        let files = try await routine.files(for: index)
        let edit = choices.edit(devices[index].schema, mayBeLarge: false, files: files)
        do {
            let done = try await devices[index].store.write(isLocalOnly: true) {
                try edit.perform($0)
            }
            story.count(.localOnlyEdit)
            story.note("\(devices[index].name) keeps: \(done.joined(separator: ", "))")
        } catch let error as StoreError where error.code == .unsynced {
            story.note("\(devices[index].name) can't keep what waits for the service")
        } catch let error as StoreError where error.code == .assetMissing {
            story.note("\(devices[index].name) can't keep a file that is gone")
        } catch let error as StoreError where error.code == .alreadyExists {
            story.note("\(devices[index].name) can't keep what hides an evicted record")
        } catch {
            guard devices[index].isCrashed else { throw error }
            try await routine.restart(index)
        }
    }

    /// Takes some records off a device.
    func evict(_ index: Int) async throws {
        let names = (0..<3).map { _ in choices.name(.note) }
        let (name, schema) = (devices[index].name, devices[index].schema)
        for note in names {
            do {
                let isGone = try await devices[index].store.write {
                    switch schema {
                    case .current, .keyed, .files: try $0.evict(SimulatedNote.ID(note))
                    case .old: try $0.evict(OldNote.ID(note))
                    }
                }
                guard isGone else { continue }
                story.count(.eviction)
                story.note("\(name) evicts \(note)")
            } catch let error as StoreError where error.code == .unsynced {
                story.note("\(name) can't evict \(note), which waits for the service")
            } catch {
                guard devices[index].isCrashed else { throw error }
                return try await routine.restart(index)
            }
        }
    }

    /// Takes some of the records back that were taken off a device.
    func fetchAgain(_ index: Int) async throws {
        guard !devices.exchanging.contains(index), devices.isOnline(index) else { return }
        let names = (0..<4).map { _ in choices.name(.note) }
        let (name, engine) = (devices[index].name, devices[index].engine)
        devices.exchanging.insert(index)
        do {
            let count: Int
            switch devices[index].schema {
            case .current, .keyed, .files:
                count = try await engine.fetchAgain(names.map { SimulatedNote.ID($0) })
            case .old: count = try await engine.fetchAgain(names.map { OldNote.ID($0) })
            }
            story.note("\(name) fetches \(count) of \(names.count) again")
        } catch let error as SyncError {
            story.note("\(name) can't fetch again: \(error.code)")
        } catch {
            guard devices[index].isCrashed else { throw error }
        }
        devices.exchanging.remove(index)
        try await routine.restartCrashed()
    }
}
