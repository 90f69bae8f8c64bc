import Backstitch
import BackstitchTesting

extension LocalEdit {
    /// What an application does that keeps files.
    func fileStep(
        _ transaction: borrowing WriteTransaction, _ generator: inout SeededGenerator
    ) throws -> String {
        if generator.chance(0.2) { return try step(transaction, &generator) }
        let kind = generator.pick([RecordPool.Kind.photo, .photo, .photo, .photo, .caption])
        let name = pool.name(kind, &generator)
        let isDelete = generator.chance(0.15)
        if kind == .caption {
            let id = SimulatedCaption.ID(name)
            if isDelete { return try delete(id, transaction) }
            var caption =
                try read(id, transaction) ?? SimulatedCaption(id: id, text: generator.text())
            if generator.chance(0.5) { caption.text = generator.text() }
            if generator.chance(0.6) {
                caption.photo = pool.target(.photo, &generator).map { .init($0) }
            }
            return "save caption \(name): \(try transaction.save(caption))"
        }
        let id = SimulatedPhoto.ID(name)
        if isDelete { return try delete(id, transaction) }
        var photo = try read(id, transaction) ?? SimulatedPhoto(id: id, title: generator.text())
        if generator.chance(0.3) { photo.title = generator.text() }
        if generator.chance(0.2) {
            photo.folder = pool.target(.folder, &generator).map { .init($0) }
        }
        if generator.chance(0.7) {
            let isCleared = generator.chance(0.15)
            let file = try file(transaction, &generator)
            photo.image = isCleared ? nil : file ?? photo.image
        }
        if generator.chance(0.4), let file = try file(transaction, &generator) {
            photo.pages.append(file)
        }
        if generator.chance(0.2), !photo.pages.isEmpty {
            photo.pages.remove(at: generator.below(photo.pages.count))
        }
        if photo.pages.count > 3 { photo.pages.removeFirst() }
        return "save photo \(name) \(SimulatedContent.names(of: photo)): "
            + "\(try transaction.save(photo))"
    }

    /// A file that was just added, or one that another record holds.
    private func file(
        _ transaction: borrowing WriteTransaction, _ generator: inout SeededGenerator
    ) throws -> Asset? {
        let other = try read(SimulatedPhoto.ID(pool.name(.photo, &generator)), transaction)
        let isShared = generator.chance(0.35)
        let number = generator.below(1_000)
        let shared = ([other?.image] + (other?.pages ?? [])).compactMap(\.self)
        let choices = isShared && !shared.isEmpty || files.isEmpty ? shared : files
        return choices.isEmpty ? nil : choices[number % choices.count]
    }
}
